"""The start of the league: its first round is announced, its matches are given out, and some come too late."""

from __future__ import annotations

from collections import Counter

from leaguekit.kit.checks import Area, Evidence, Failed, NotRun
from leaguekit.kit.exchanges import Arrived
from leaguekit.kit.incoming import Came, Part, envelope, evidence, judged, value
from leaguekit.kit.manager.harness import ManagerScene
from leaguekit.kit.manager.kit_agents import GAME, SENDER, Member
from leaguekit.kit.manager.registration import code_of, is_refused, other_players, other_referees, referee
from leaguekit.protocol import messages as m
from leaguekit.protocol.messages import Message, message_type

LEAD_SECONDS = 60.0

START: Area[ManagerScene] = Area("start", "Start of the league")
ROUND: Area[ManagerScene] = Area("round", "Announcement of a round")
ASSIGN: Area[ManagerScene] = Area("assign", "How matches are given out")
LATE: Area[ManagerScene] = Area("late", "Who comes too late")


def names(members: list[Member]) -> str:
    return ", ".join(one.id for one in members)


async def told_to_all(scene: ManagerScene, kind: type[Message], members: list[Member], count: int = 1) -> Evidence:
    """That everybody is sent a message of a kind."""
    expected = f"{message_type(kind)} to {names(members)}"
    if missed := await scene.everybody(kind, members, count):
        raise Failed(Evidence(came=f"nothing came to {names(missed)}", expected=expected))
    return evidence(members[0].got(kind)[count - 1], expected)


@START.required("fourth", "A fourth player is taken.", "000-L0297", needs=[other_players, other_referees])
async def fourth(scene: ManagerScene) -> Evidence:
    return_ = await scene.register("fourth", "player", "Kit player 4")
    if len(scene.players) < 4:
        raise return_.failed("status: ACCEPTED")
    return return_.evidence("status: ACCEPTED")


@START.required(
    "announced",
    "When the league has started, its first round is announced.",
    "003-L0158a",
    "001-L0372",
    needs=[fourth],
)
async def announced(scene: ManagerScene) -> Evidence:
    await scene.start()
    if await scene.announced(1, scene.terms.patience) is None:
        started = scene.seen.get("start")
        came = "nothing came to the players" if started is None else f"nothing came; the start: {started.came}"
        raise Failed(Evidence(came=came, expected=f"ROUND_ANNOUNCEMENT within {scene.terms.patience:g} s"))
    scene.told["announcement"] = [
        Came(
            scene.players[0].got(m.RoundAnnouncement)[0],
            {
                "message_type": "ROUND_ANNOUNCEMENT",
                "sender": SENDER,
                "league_id": scene.league_id,
                "round_id": 1,
                "matches[].game_type": GAME,
            },
        )
    ]
    return evidence(scene.told["announcement"][0].arrived, "ROUND_ANNOUNCEMENT")


_fields = judged(
    ROUND,
    "announcement",
    m.RoundAnnouncement,
    [
        *envelope(
            m.RoundAnnouncement,
            "league_manager",
            ("001-L0380", "001-L0379", "001-L0381", "001-L0382", "001-L0383"),
        ),
        Part("league_id", "The announcement names the league.", ("000-L0355",)),
        Part("round_id", "The announcement names the round, 1 first.", ("000-L0358",)),
        Part("matches[].match_id", "Each match has an id such as R1M1.", ("000-L0368",)),
        Part("matches[].game_type", "Each match names the game.", ("000-L0372",)),
        Part("matches[].player_A_id", "Each match names its first player.", ("000-L0375",)),
        Part("matches[].player_B_id", "Each match names its second player.", ("000-L0378",)),
        Part("matches[].referee_endpoint", "Each match gives the URL of its referee.", ("000-L0381",)),
    ],
    needs=[announced],
    methods=("001-L0371",),
)
_by_path = {one.id.partition(".")[2]: one for one in _fields}
_ids = [_by_path[f"matches[].{name}"] for name in ("match_id", "player_A_id", "player_B_id")]
_endpoint = _by_path["matches[].referee_endpoint"]
round_number = _by_path["round_id"]


@ROUND.required("players", "Every player is told of the round.", "000-L0394", "001-L0370", needs=[announced])
async def to_players(scene: ManagerScene) -> Evidence:
    return await told_to_all(scene, m.RoundAnnouncement, scene.players)


@ROUND.recommended("referees", "So is every referee.", "000-L0382", "decision 22", needs=[announced])
async def to_referees(scene: ManagerScene) -> Evidence:
    return await told_to_all(scene, m.RoundAnnouncement, scene.referees)


def _announcement(scene: ManagerScene) -> Arrived:
    return scene.told["announcement"][0].arrived


@ROUND.required(
    "numbers",
    "The number in a match's id is that of its round, and no two ids are alike.",
    "000-L0369",
    needs=[announced, *_ids],
)
async def numbers(scene: ManagerScene) -> Evidence:
    ids = [one.match_id for one in scene.rounds[1]]
    if not all(one.startswith("R1M") for one in ids) or len(set(ids)) != len(ids):
        raise Failed(evidence(_announcement(scene), "R1M1, R1M2 and so on", ", ".join(ids)))
    return evidence(_announcement(scene), "R1M1, R1M2 and so on")


@ROUND.required(
    "pairs",
    "Each match is between two players of the league, and nobody plays twice in a round.",
    "000-L0397",
    "000-L0398",
    needs=[announced, *_ids],
)
async def pairs(scene: ManagerScene) -> Evidence:
    playing = [one for match in scene.rounds[1] for one in (match.a, match.b)]
    expected = f"each of {names(scene.players)} once at most"
    if max(Counter(playing).values()) > 1 or not set(playing) <= set(scene.table.rows):
        raise Failed(evidence(_announcement(scene), expected, ", ".join(playing)))
    return evidence(_announcement(scene), expected)


@ROUND.required(
    "whole",
    "The announcement has all matches of the round: nobody rests who could play.",
    "000-L0396",
    "003-L0158b",
    needs=[announced, *_ids],
)
async def whole(scene: ManagerScene) -> Evidence:
    expected = f"{len(scene.players) // 2} matches"
    if len(scene.rounds[1]) != len(scene.players) // 2:
        raise Failed(evidence(_announcement(scene), expected, f"{len(scene.rounds[1])} matches"))
    return evidence(_announcement(scene), expected)


@ROUND.required(
    "endpoints",
    "referee_endpoint is that of a referee of the league.",
    "000-L0381",
    "003-L0158c",
    needs=[announced, _endpoint],
)
async def endpoints(scene: ManagerScene) -> Evidence:
    known = {one.url for one in scene.referees}
    named = {one.referee_endpoint for one in scene.rounds[1]}
    if not named <= known:
        raise Failed(evidence(_announcement(scene), f"one of {', '.join(sorted(known))}"))
    return evidence(_announcement(scene), f"one of {', '.join(sorted(known))}")


@ROUND.recommended(
    "copy", "The referees' copy tells where the players listen.", "decision 22", needs=[announced, to_referees, pairs]
)
async def copy(scene: ManagerScene) -> Evidence:
    arrived = scene.referees[0].got(m.RoundAnnouncement)[0]
    matches = arrived.message.get("matches")
    for one in matches if isinstance(matches, list) else []:
        for side in ("A", "B"):
            player = scene.members.get(str(value(one, f"player_{side}_id")))
            if player is not None and value(one, f"player_{side}_endpoint") != player.url:
                raise Failed(evidence(arrived, f"player_{side}_endpoint: {player.url}"))
    return evidence(arrived, "the endpoints of both players")


# Too late


@LATE.required(
    "player", "A player that registers after the start is refused.", "000-L0303", "000-L1231", needs=[announced]
)
async def late_player(scene: ManagerScene) -> Evidence:
    return is_refused(await scene.register("late player", "player", "Kit latecomer"))


@LATE.recommended("code", "The code for that is E019.", "000-L1231", "decision 9", needs=[late_player])
async def late_code(scene: ManagerScene) -> Evidence:
    exchange = scene.seen["late player"]
    if code_of(exchange) != "E019":
        raise exchange.failed("error_code: E019")
    return exchange.evidence("error_code: E019")


@LATE.recommended(
    "referee",
    "A referee that registers after the start is refused.",
    "000-L0194",
    "decision 21",
    needs=[announced, *referee],
)
async def late_referee(scene: ManagerScene) -> Evidence:
    return is_refused(await scene.register("late referee", "referee", "Kit late referee"))


# How matches are given out


@ASSIGN.recommended(
    "comes",
    "Each match is given to the referee that was announced, by start_match.",
    "decision 22",
    needs=[announced, numbers, pairs, endpoints],
)
async def comes(scene: ManagerScene) -> Evidence:
    await scene.given_out(1)
    if not scene.assigns:
        raise NotRun("no start_match came: the manager starts its matches otherwise, and no document says how")
    for fixture in scene.rounds[1]:
        given = scene.assignment_of(fixture)
        if given is None or given[0].url != fixture.referee_endpoint:
            came = "no start_match" if given is None else f"start_match to {given[0].id}"
            raise Failed(Evidence(came=f"{came} for {fixture.match_id}", expected=f"at {fixture.referee_endpoint}"))
    scene.told["assignment"] = [
        Came(
            given[1],
            {
                "message_type": "MATCH_ASSIGNMENT",
                "sender": SENDER,
                "league_id": scene.league_id,
                "round_id": fixture.round_id,
                "match_id": fixture.match_id,
                "game_type": GAME,
                "attempt": 1,
                "player_A.player_id": fixture.a,
                "player_B.player_id": fixture.b,
                "player_A.endpoint": scene.members[fixture.a].url,
                "player_B.endpoint": scene.members[fixture.b].url,
            },
        )
        for fixture in scene.rounds[1]
        if (given := scene.assignment_of(fixture)) is not None
    ]
    return evidence(scene.told["assignment"][0].arrived, "MATCH_ASSIGNMENT")


judged(
    ASSIGN,
    "assignment",
    m.MatchAssignment,
    [
        part._replace(is_required=False)
        for part in (
            *envelope(m.MatchAssignment, "league_manager", ["decision 22"] * 5),
            Part("league_id", "The assignment names the league.", ("decision 22",)),
            Part("round_id", "The assignment names the round.", ("decision 22",)),
            Part("game_type", "The assignment names the game.", ("decision 22",)),
            Part("attempt", "The assignment says which attempt it is.", ("decision 22",)),
            Part("match_seed", "The assignment has the seed of the draw.", ("decision 22",)),
            Part("time_limits", "The assignment tells the limits.", ("decision 22",)),
            Part("player_A.player_id", "The assignment names player A, as announced.", ("decision 22",)),
            Part("player_B.player_id", "The assignment names player B, as announced.", ("decision 22",)),
            Part("player_A.endpoint", "The assignment tells where player A listens.", ("decision 22",)),
            Part("player_B.endpoint", "The assignment tells where player B listens.", ("decision 22",)),
        )
    ],
    needs=[comes],
)


@ASSIGN.recommended("tokens", "No agent is shown another's token.", "003-L0130c", "decision 19", needs=[announced])
async def tokens_kept(scene: ManagerScene) -> Evidence:
    for member in scene.members.values():
        others = [one.token for one in scene.members.values() if one is not member and one.token]
        for arrived in member.desk.arrived:
            if any(token in arrived.body.decode(errors="replace") for token in others):
                raise Failed(evidence(arrived, "nobody else's token"))
    return Evidence(came="none", expected="nobody else's token")


@ASSIGN.recommended(
    "lead",
    "A round's first match begins at least 60 seconds after the announcement.",
    "000-L0325",
    "000-L0395",
    needs=[comes],
    full=True,
)
async def lead(scene: ManagerScene) -> Evidence:
    first = min(one.arrived.at for one in scene.told["assignment"])
    seconds = first - _announcement(scene).at
    found = Evidence(came=f"{seconds:.1f} s", expected=f"at least {LEAD_SECONDS:g} s")
    if seconds < LEAD_SECONDS - 0.5:
        raise Failed(found)
    return found
