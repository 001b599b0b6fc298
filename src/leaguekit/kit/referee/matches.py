"""How a match begins: the round's announcement and the assignment, the invitations, and the calls for a choice."""

from __future__ import annotations

from datetime import timedelta

from leaguekit.games.base import SIDES, Side, other
from leaguekit.kit.answer_checks import ANYTHING, Field, came_in_time
from leaguekit.kit.answer_checks import judged as judged_answer
from leaguekit.kit.checks import Area, Evidence, Failed, NotRun
from leaguekit.kit.exchanges import Json
from leaguekit.kit.incoming import Came, Part, envelope, evidence, has, judged
from leaguekit.kit.referee.harness import GAME, PLAYED_BEFORE, REAL, REFEREE_ID, Bout, RefereeScene
from leaguekit.kit.referee.kit_players import chooses, joins, plan
from leaguekit.kit.referee.registration import ping
from leaguekit.protocol import messages as m
from leaguekit.protocol import times

ROUND: Area[RefereeScene] = Area("round", "Round and assignment")
INVITATION: Area[RefereeScene] = Area("invitation", "Invitations")
CALL: Area[RefereeScene] = Area("call", "Calls for a choice")

# In the first match B comes later than A, so that a call before both are there is seen.
LATE_SECONDS = 0.3
# And it chooses later, so that an end before both have chosen is seen.
SLOW_SECONDS = 0.2
# Timestamps have whole seconds.
ROUNDING_SECONDS = 2.0
# The match that most checks look at.
FIRST = "first"


def of_match(bout: Bout) -> Json:
    """What every message of a match must say; a referee that was not registered may have any id."""
    return {"match_id": bout.match_id, "game_type": GAME}


def came(scene: RefereeScene, name: str, kind: type[m.Message], more: dict[Side, Json]) -> Evidence:
    """Keep the first message of a kind to each side for the checks that look at it, if both have one."""
    bout = scene.bouts[FIRST]
    wanted = {"message_type": m.message_type(kind), "sender": scene.sender} | of_match(bout)
    found = {side: got[0] for side in SIDES if (got := bout.got(side, kind))}
    expected = f"{m.message_type(kind)} to {bout.seats['A'].player_id} and {bout.seats['B'].player_id}"
    if len(found) < len(SIDES):
        names = ", ".join(bout.seats[side].player_id for side in found) or "nobody"
        raise Failed(Evidence(came=f"it came to {names}", expected=expected))
    scene.told[name] = [Came(found[side], wanted | more[side]) for side in SIDES]
    return evidence(found["A"], expected)


# Round and assignment


@ROUND.required(
    "begins",
    "The referee begins a match that it was given, by start_match or by ROUND_ANNOUNCEMENT: it invites.",
    "001-L0905",
    "003-L0161a",
    "decision 22",
    needs=[ping],
)
async def begins(scene: RefereeScene) -> Evidence:
    bout = await scene.play(
        FIRST, plan("even"), plan(join=joins(after=LATE_SECONDS), choose=chooses("odd", after=SLOW_SECONDS))
    )
    invited = [one for side in SIDES for one in bout.got(side, m.GameInvitation)]
    expected = "GAME_INVITATION to a player of the match"
    if not invited:
        sent = scene.seen.get(f"assignment of {bout.match_id}") or scene.seen["announcement"]
        raise sent.failed(expected, "no invitation")
    return evidence(invited[0], expected)


@ROUND.required(
    "announcement",
    "The referee answers ROUND_ANNOUNCEMENT, in whatever words.",
    "000-L1578",
    "decision 24",
    needs=[ping, begins],
)
async def announcement(scene: RefereeScene) -> Evidence:
    return came_in_time(scene.seen["announcement"])


judged_answer(
    ROUND,
    "announcement",
    lambda _scene: m.RoundAnnouncementAck,
    [
        Field(
            "message_type",
            "The answer to ROUND_ANNOUNCEMENT is ROUND_ANNOUNCEMENT_ACK.",
            ("001-L0445",),
            lambda _scene: "ROUND_ANNOUNCEMENT_ACK",
            is_required=False,
        ),
        Field(
            "round_id",
            "ROUND_ANNOUNCEMENT_ACK repeats the round_id.",
            ("001-L0441",),
            lambda scene: scene.bouts[FIRST].assignment.round_id,
            is_required=False,
        ),
        Field(
            "referee_id",
            "ROUND_ANNOUNCEMENT_ACK carries the referee's id.",
            ("decision 22",),
            lambda scene: REFEREE_ID if scene.registers else ANYTHING,
            is_required=False,
        ),
    ],
    needs=[announcement],
)


@ROUND.recommended(
    "accepted",
    "The referee answers start_match with MATCH_ASSIGNMENT_ACK, ACCEPTED, for that match and attempt.",
    "decision 22",
    needs=[begins],
)
async def accepted(scene: RefereeScene) -> Evidence:
    bout = scene.bouts[FIRST]
    return takes(scene, bout, f"assignment of {bout.match_id}")


def takes(scene: RefereeScene, bout: Bout, name: str) -> Evidence:
    """That an assignment was accepted."""
    if scene.manner != "assignment":
        raise NotRun("it begins its matches by the announcement")
    exchange = scene.seen[name]
    wanted = {"message_type": "MATCH_ASSIGNMENT_ACK", "status": "ACCEPTED", "match_id": bout.match_id, "attempt": 1}
    expected = ", ".join(f"{name}: {one}" for name, one in wanted.items())
    if not has(exchange.result, wanted):
        raise exchange.failed(expected)
    return exchange.evidence(expected)


# Invitations


@INVITATION.required("both", "Both players are invited.", "000-L0568", "001-L0903", needs=[begins])
async def both_invited(scene: RefereeScene) -> Evidence:
    bout = scene.bouts[FIRST]
    more = {
        side: {
            "league_id": scene.league_id,
            "round_id": bout.assignment.round_id,
            "role_in_match": f"PLAYER_{side}",
            "opponent_id": bout.seats[other(side)].player_id,
            "player_id": bout.seats[side].player_id,
        }
        for side in SIDES
    }
    return came(scene, "invitation", m.GameInvitation, more)


judged(
    INVITATION,
    "invitation",
    m.GameInvitation,
    [
        *envelope(
            m.GameInvitation,
            "referee: and its id",
            ("001-L0913", "001-L0912", "001-L0914", "001-L0915", "001-L0916"),
            "001-L0917",
        ),
        Part("league_id", "The invitation names the league.", ("000-L0543",)),
        Part("round_id", "The invitation names the round.", ("000-L0544",)),
        Part("match_id", "The invitation names the match.", ("000-L0545",)),
        Part("game_type", "The invitation names the game.", ("000-L0546",)),
        Part("role_in_match", "The invitation tells each player its side.", ("000-L0548",)),
        Part("opponent_id", "The invitation names the opponent.", ("000-L0552", "000-L0569")),
        Part("player_id", "The invitation names the player invited.", ("000-L1379",), is_required=False),
    ],
    needs=[both_invited],
    methods=("001-L0904",),
)


# Calls


@CALL.required("both", "Both players are called to choose.", "001-L1044", "000-L0749", needs=[both_invited])
async def both_called(scene: RefereeScene) -> Evidence:
    bout = scene.bouts[FIRST]
    record = {name: getattr(PLAYED_BEFORE, name) for name in ("wins", "losses", "draws")}
    known = {f"context.your_standings.{name}": count for name, count in record.items()}
    more = {
        side: {
            "player_id": bout.seats[side].player_id,
            "context.opponent_id": bout.seats[other(side)].player_id,
            "context.round_id": bout.assignment.round_id,
            # The announcement alone does not tell.
            **(known if scene.manner == "assignment" else {}),
        }
        for side in SIDES
    }
    return came(scene, "call", m.ChooseParityCall, more)


judged(
    CALL,
    "call",
    m.ChooseParityCall,
    [
        *envelope(
            m.ChooseParityCall,
            "referee: and its id",
            ("001-L1054", "001-L1053", "001-L1055", "001-L1056", "001-L1057"),
            "001-L1058",
        ),
        Part("match_id", "The call names the match.", ("000-L0777",)),
        Part("player_id", "The call names the player that is asked.", ("000-L0778",)),
        Part("game_type", "The call names the game.", ("000-L0779",)),
        Part("deadline", "The call says until when it can be answered.", ("000-L0789", "000-L0804")),
        Part("context.opponent_id", "The call's context names the opponent.", ("000-L0782",), is_required=False),
        Part("context.round_id", "The call's context names the round.", ("000-L0783",), is_required=False),
        *(
            Part(
                f"context.your_standings.{name}",
                f"The call's context tells the player its {name}, as the assignment gave them.",
                (line, "decision 22"),
                is_required=False,
            )
            for name, line in (("wins", "000-L0785"), ("losses", "000-L0786"), ("draws", "000-L0787"))
        ),
        Part(
            "context.draw_commitment",
            "The call's context commits the referee to the number that it has drawn.",
            ("decision 22",),
            is_required=False,
        ),
    ],
    needs=[both_called],
    methods=("001-L1045",),
)


@CALL.required(
    "after_both", "Nobody is called before both players have joined.", "000-L0802", "001-L1046", needs=[both_called]
)
async def called_after_both(scene: RefereeScene) -> Evidence:
    bout = scene.bouts[FIRST]
    joined = max(bout.seats[side].answered.get(m.GameInvitation, float("inf")) for side in SIDES)
    first = min((bout.got(side, m.ChooseParityCall)[0] for side in SIDES), key=lambda one: one.at)
    if first.at < joined:
        raise Failed(evidence(first, "no call before both had joined"))
    return evidence(first, "no call before both had joined")


@CALL.recommended(
    "same_time", "Both players are called at the same time.", "000-L0803", needs=[both_called, called_after_both]
)
async def same_time(scene: RefereeScene) -> Evidence:
    bout = scene.bouts[FIRST]
    at = [bout.got(side, m.ChooseParityCall)[0].at for side in SIDES]
    found = Evidence(came=f"{abs(at[0] - at[1]):.2f} s between the calls", expected="less than 0.2 s")
    if abs(at[0] - at[1]) >= 0.2:
        raise Failed(found)
    return found


@CALL.recommended(
    "deadline_fits",
    "The call's deadline is as far away as the limit: 30 seconds, or what the assignment says.",
    "000-L0792",
    "001-L1064b",
    "decision 22",
    needs=[both_called],
)
async def deadline_fits(scene: RefereeScene) -> Evidence:
    bout = scene.bouts[FIRST]
    limits = bout.assignment.time_limits if scene.manner == "assignment" else REAL
    for side in SIDES:
        arrived = bout.got(side, m.ChooseParityCall)[0]
        try:
            deadline = times.read(arrived.message["deadline"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise NotRun("there is no deadline that can be read") from None
        away = deadline - arrived.when - timedelta(seconds=limits.choice_seconds)
        if abs(away.total_seconds()) > ROUNDING_SECONDS:
            raise Failed(evidence(arrived, f"a deadline {limits.choice_seconds:g} s away"))
    return evidence(arrived, f"a deadline {limits.choice_seconds:g} s away")
