"""The start of the league: the announcement of the first round, its assignments, and late registrations."""

from __future__ import annotations

from collections import Counter

from leaguekit.formats.knockout import Knockout
from leaguekit.formats.round_robin import RoundRobin
from leaguekit.formats.swiss import Swiss
from leaguekit.kit.checks import Area, Evidence, Failed, NotCheckable, NotRun, fail_if
from leaguekit.kit.documented_game import GAME
from leaguekit.kit.field_checks import Field, add_request_checks, envelope, named, recommended, value
from leaguekit.kit.manager.harness import ManagerHarness
from leaguekit.kit.manager.kit_agents import LeagueAgent
from leaguekit.kit.manager.registration import (
    error_code_of,
    is_refused,
    other_players,
    other_referees,
    referee_accepted,
)
from leaguekit.protocol import messages as m

LEAD_SECONDS = 60.0

START: Area[ManagerHarness] = Area("start", "Start of the league")
ROUND: Area[ManagerHarness] = Area("round", "Announcement of a round")
ASSIGN: Area[ManagerHarness] = Area("assign", "How matches are given out")
LATE: Area[ManagerHarness] = Area("late", "Late registrations")


def ids_of(agents: list[LeagueAgent]) -> str:
    return ", ".join(one.id for one in agents)


async def check_sent_to_all(
    harness: ManagerHarness, kind: type[m.Message], agents: list[LeagueAgent], count: int = 1
) -> Evidence:
    """Check that all agents receive a message of a kind."""
    expected = f"{m.message_type(kind)} to {ids_of(agents)}"
    if missed := await harness.agents_without(kind, agents, count):
        raise Failed(Evidence(came=f"nothing came to {ids_of(missed)}", expected=expected))
    return agents[0].received(kind)[count - 1].evidence(expected)


@START.required("000-L0297", needs=[other_players, other_referees])
async def fourth(harness: ManagerHarness) -> Evidence:
    """A fourth player is taken."""
    exchange = await harness.register("fourth", "player", "Kit player 4")
    return exchange.fail_if(len(harness.players) < 4, "status: ACCEPTED")


@START.required("003-L0158a", "001-L0372", needs=[fourth])
async def announced(harness: ManagerHarness) -> Evidence:
    """When the league has started, its first round is announced."""
    await harness.start()
    if await harness.wait_for_round(1, harness.settings.timeout_seconds) is None:
        started = harness.answers.get("start")
        came = "nothing came to the players" if started is None else f"nothing came; the start: {started.came}"
        raise Failed(Evidence(came=came, expected=f"ROUND_ANNOUNCEMENT within {harness.settings.timeout_seconds:g} s"))
    await harness.learn_format()
    received = harness.players[0].received(m.RoundAnnouncement)[0]
    harness.keep("announcement", [received], {"round_id": 1, "matches[].game_type": GAME.name})
    return received.evidence("ROUND_ANNOUNCEMENT")


_fields = add_request_checks(
    ROUND,
    "announcement",
    m.RoundAnnouncement,
    [
        *envelope(m.RoundAnnouncement, "league_manager", "001-L0379"),
        *named("The announcement", "league_id"),
        Field("round_id", "The announcement names the round, 1 first."),
        Field("matches[].match_id", "Each match has an id such as R1M1."),
        Field("matches[].game_type", "Each match names the game."),
        Field("matches[].player_A_id", "Each match names its first player."),
        Field("matches[].player_B_id", "Each match names its second player."),
        Field("matches[].referee_endpoint", "Each match gives the URL of its referee."),
    ],
    needs=[announced],
    methods=("001-L0371",),
)
_by_path = {one.id.partition(".")[2]: one for one in _fields}
_ids = [_by_path[f"matches[].{name}"] for name in ("match_id", "player_A_id", "player_B_id")]
_endpoint = _by_path["matches[].referee_endpoint"]
round_number = _by_path["round_id"]


@ROUND.required("000-L0394", "001-L0370", name="players", needs=[announced])
async def to_players(harness: ManagerHarness) -> Evidence:
    """Every player gets the announcement of the round."""
    return await check_sent_to_all(harness, m.RoundAnnouncement, harness.players)


@ROUND.recommended("000-L0382", "decision 22", name="referees", needs=[announced])
async def to_referees(harness: ManagerHarness) -> Evidence:
    """So is every referee."""
    return await check_sent_to_all(harness, m.RoundAnnouncement, harness.referees)


@ROUND.required("000-L0369", needs=[announced, *_ids])
async def numbers(harness: ManagerHarness) -> Evidence:
    """The number in a match's id is that of its round, and no two ids are alike."""
    ids = [one.match_id for one in harness.rounds[1]]
    return harness.first("announcement").fail_if(
        not all(one.startswith("R1M") for one in ids) or len(set(ids)) != len(ids),
        "R1M1, R1M2 and so on",
        ", ".join(ids),
    )


@ROUND.required("000-L0397", "000-L0398", needs=[announced, *_ids])
async def pairs(harness: ManagerHarness) -> Evidence:
    """Each match is between two players of the league, and nobody plays twice in a round."""
    playing = [one for match in harness.rounds[1] for one in (match.a, match.b)]
    expected = f"each of {ids_of(harness.players)} once at most"
    return harness.first("announcement").fail_if(
        max(Counter(playing).values()) > 1 or not set(playing) <= set(harness.table.rows), expected, ", ".join(playing)
    )


@ROUND.required("000-L0396", "003-L0158b", needs=[announced, *_ids])
async def whole(harness: ManagerHarness) -> Evidence:
    """The announcement has all matches of the round: no player rests that could play."""
    if not isinstance(harness.format, RoundRobin | Swiss | Knockout):
        if len(harness.rounds[1]) < 2:
            many = f"the kit needs two matches in a round, and the format is {harness.format_text}"
            raise NotCheckable(f"{many}; check another one")
        raise NotRun(f"the format is {harness.format_text}, in which players may rest")
    expected = f"{len(harness.players) // 2} matches"
    return harness.first("announcement").fail_if(
        len(harness.rounds[1]) != len(harness.players) // 2, expected, f"{len(harness.rounds[1])} matches"
    )


@ROUND.required("000-L0381", "003-L0158c", needs=[announced, _endpoint])
async def endpoints(harness: ManagerHarness) -> Evidence:
    """referee_endpoint is that of a referee of the league."""
    known = {one.url for one in harness.referees}
    named = {one.referee_endpoint for one in harness.rounds[1]}
    return harness.first("announcement").fail_if(not named <= known, f"one of {', '.join(sorted(known))}")


@ROUND.recommended("decision 22", name="copy", needs=[announced, to_referees, pairs])
async def referees_copy(harness: ManagerHarness) -> Evidence:
    """The referees' copy says where the players listen."""
    request = harness.referees[0].received(m.RoundAnnouncement)[0]
    matches = request.message.get("matches")
    for one in matches if isinstance(matches, list) else []:
        for side in ("A", "B"):
            player = harness.agents.get(str(value(one, f"player_{side}_id")))
            if player is not None and value(one, f"player_{side}_endpoint") != player.url:
                raise request.failed(f"player_{side}_endpoint: {player.url}")
    return request.evidence("the endpoints of both players")


# Late registrations


@LATE.required("000-L0303", "000-L1231", name="player", needs=[announced])
async def late_player(harness: ManagerHarness) -> Evidence:
    """A player that registers after the start is refused."""
    return is_refused(await harness.register("late player", "player", "Kit latecomer"))


@LATE.recommended("000-L1231", "decision 9", name="code", needs=[late_player])
async def late_code(harness: ManagerHarness) -> Evidence:
    """The code for that is E019."""
    exchange = harness.answers["late player"]
    return exchange.fail_if(error_code_of(exchange) != "E019", "error_code: E019")


@LATE.recommended("000-L0194", "decision 21", name="referee", needs=[announced, *referee_accepted])
async def late_referee(harness: ManagerHarness) -> Evidence:
    """A referee that registers after the start is refused."""
    return is_refused(await harness.register("late referee", "referee", "Kit late referee"))


# Assignments


@ASSIGN.recommended("decision 22", name="comes", needs=[announced, numbers, pairs, endpoints])
async def matches_assigned(harness: ManagerHarness) -> Evidence:
    """Each match is given to the referee that was announced, by start_match."""
    await harness.wait_for_assignments(1)
    if not harness.uses_start_match:
        raise NotRun("no start_match came: the manager starts its matches in another way")
    for fixture in harness.rounds[1]:
        given = harness.assignment_of(fixture)
        if given is None or given[0].url != fixture.referee_endpoint:
            came = "no start_match" if given is None else f"start_match to {given[0].id}"
            raise Failed(Evidence(came=f"{came} for {fixture.match_id}", expected=f"at {fixture.referee_endpoint}"))
        wanted = {
            "round_id": fixture.round_id,
            "match_id": fixture.match_id,
            "game_type": GAME.name,
            "attempt": 1,
            "player_A.player_id": fixture.a,
            "player_B.player_id": fixture.b,
            "player_A.endpoint": harness.agents[fixture.a].url,
            "player_B.endpoint": harness.agents[fixture.b].url,
        }
        harness.keep("assignment", [given[1]], wanted)
    return harness.first("assignment").evidence("MATCH_ASSIGNMENT")


add_request_checks(
    ASSIGN,
    "assignment",
    m.MatchAssignment,
    recommended(
        *envelope(m.MatchAssignment, "league_manager", "decision 22"),
        *(
            field._replace(instead=("decision 22",))
            for field in (
                *named("The assignment", "league_id", "round_id", "game_type"),
                Field("attempt", "The assignment says which attempt it is."),
                Field("match_seed", "The assignment has the seed of the draw."),
                Field("time_limits", "The assignment has the limits."),
                Field("player_A.player_id", "The assignment names player A, as announced."),
                Field("player_B.player_id", "The assignment names player B, as announced."),
                Field("player_A.endpoint", "The assignment says where player A listens."),
                Field("player_B.endpoint", "The assignment says where player B listens."),
            )
        ),
    ),
    needs=[matches_assigned],
)


@ASSIGN.recommended("003-L0130c", "decision 19", name="tokens", needs=[announced])
async def tokens_kept(harness: ManagerHarness) -> Evidence:
    """No agent is shown another's token."""
    for agent in harness.agents.values():
        others = [one.token for one in harness.agents.values() if one is not agent and one.token]
        for request in agent.inbox.requests:
            if any(token in request.body.decode(errors="replace") for token in others):
                raise request.failed("nobody else's token")
    return Evidence(came="none", expected="nobody else's token")


@ASSIGN.recommended("000-L0325", "000-L0395", name="lead", needs=[matches_assigned], full=True)
async def announcement_lead(harness: ManagerHarness) -> Evidence:
    """A round's first match begins at least 60 seconds after the announcement."""
    first = min(one.request.loop_time for one in harness.messages["assignment"])
    seconds = first - harness.first("announcement").loop_time
    found = Evidence(came=f"{seconds:.1f} s", expected=f"at least {LEAD_SECONDS:g} s")
    return fail_if(seconds < LEAD_SECONDS - 0.5, found)
