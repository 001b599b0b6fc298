"""What players post to the referee by themselves, instead of answering its call: with their token, at their time."""

from __future__ import annotations

from leaguekit.kit.answer_checks import is_refusal
from leaguekit.kit.checks import Area, Evidence, Failed, NotRun
from leaguekit.kit.exchanges import Exchange, Json
from leaguekit.kit.incoming import evidence, is_a, value
from leaguekit.kit.referee.faults import check_knows_tokens, is_technical
from leaguekit.kit.referee.harness import STRANGER, RefereeScene
from leaguekit.kit.referee.kit_players import joins, never, plan
from leaguekit.kit.referee.results import CAN_PLAY
from leaguekit.kit.referee.retries import silent_call
from leaguekit.kit.rpc_checks import has_code
from leaguekit.protocol import messages as m
from leaguekit.protocol.methods import BY_REQUEST

POST: Area[RefereeScene] = Area("post", "What players post by themselves")

# Long enough for everything that is posted, also from far away.
LIMITS = m.TimeLimits(join_seconds=10, choice_seconds=10, game_over_seconds=1, max_retries=3, retry_seconds=0.4)
SECONDS = 10.0
JOIN = BY_REQUEST[m.GameJoinAck].name
CHOICE = BY_REQUEST[m.ChooseParityResponse].name


async def _post(scene: RefereeScene, name: str, method: str, message: Json) -> Exchange:
    scene.seen[name] = await scene.line.call(scene.url, method, message, SECONDS)
    return scene.seen[name]


def _acknowledged(exchange: Exchange) -> Evidence:
    expected = "a result with status: ACKNOWLEDGED"
    result = exchange.result if isinstance(exchange.result, dict) else {}
    if result.get("status") != "ACKNOWLEDGED":
        raise exchange.failed(expected)
    return exchange.evidence(expected)


@POST.recommended(
    "join", "A player may post GAME_JOIN_ACK by itself, with its token.", "000-L0577", "decision 32", needs=CAN_PLAY
)
async def join(scene: RefereeScene) -> Evidence:
    check_knows_tokens(scene)
    bout = await scene.bout("posts", plan(join=never, choose=never), plan("odd", join=joins(after=0.1)), limits=LIMITS)
    a, b = bout.seats["A"], bout.seats["B"]
    await scene.begin(bout)
    await a.desk.until(is_a(m.GameInvitation), SECONDS)
    await _post(scene, "choice too early", CHOICE, a.choice("even"))
    await _post(scene, "join by a stranger", JOIN, a.join(auth_token=STRANGER))
    anonymous = {name: one for name, one in a.join().items() if name != "auth_token"}
    await _post(scene, "join without a token", JOIN, anonymous)
    await _post(scene, "join in an unknown match", JOIN, a.join(match_id="R99M9"))
    joined = await _post(scene, "join", JOIN, a.join())
    await a.desk.until(is_a(m.ChooseParityCall), SECONDS if joined.result else 0.0)
    await _post(scene, "choice by a stranger", CHOICE, a.choice("odd", auth_token=STRANGER))
    await _post(scene, "choice for the other", CHOICE, b.choice("even", auth_token=a.token))
    await _post(scene, "wrong choice", CHOICE, a.choice("EVEN"))
    await _post(scene, "choice", CHOICE, a.choice("even"))
    await scene.ended(bout, LIMITS.join_seconds + LIMITS.choice_seconds)
    await _post(scene, "choice after the end", CHOICE, a.choice("even"))
    return _acknowledged(joined)


@POST.recommended(
    "choice",
    "A player may post CHOOSE_PARITY_RESPONSE by itself, with its token.",
    "000-L0812",
    "decision 32",
    needs=[*CAN_PLAY, join],
)
async def choice(scene: RefereeScene) -> Evidence:
    _acknowledged(scene.seen["choice"])
    bout = scene.bouts["posts"]
    chosen = value(bout.result, f"details.choices.{bout.seats['A'].player_id}")
    if chosen != "even" or is_technical(bout):
        raise Failed(evidence(bout.report, "the choice that was posted, even"))
    return scene.seen["choice"].evidence("a result with status: ACKNOWLEDGED")


@POST.required(
    "stranger",
    "What is posted with a wrong token does not count: it neither joins nor chooses for a player.",
    "003-L0130c",
    "001-L1940",
    "decision 32",
    needs=CAN_PLAY,
)
async def stranger(scene: RefereeScene) -> Evidence:
    for name in ("join by a stranger", "join without a token", "choice by a stranger", "choice for the other"):
        is_refusal(scene.seen[name])
    return scene.seen["choice by a stranger"].evidence("a refusal")


def _numbers(name: str, posted: str, number: int, sentence: str, *requirements: str) -> None:
    @POST.recommended(name, sentence, *requirements, "decision 32", needs=[*CAN_PLAY, join, stranger])
    async def refused(scene: RefereeScene) -> Evidence:
        return is_refusal(scene.seen[posted], number)


_numbers("token", "choice by a stranger", 4001, "A wrong token is refused with 4001.", "001-L0998", "001-L1941")
_numbers("match", "join in an unknown match", 4003, "An unknown match is refused with 4003.", "001-L1000")
_numbers("wrong_choice", "wrong choice", 4004, "A wrong choice is refused with 4004.", "001-L1156")
_numbers("state", "choice too early", 4005, "A choice before the call is refused with 4005.", "001-L1157")
_numbers("over", "choice after the end", 4005, "A choice after the end is refused with 4005.", "001-L1157")


@POST.recommended(
    "no_token",
    "What is posted without a token is refused with E011.",
    "000-L1228",
    "decision 32",
    needs=[*CAN_PLAY, join, stranger],
)
async def no_token(scene: RefereeScene) -> Evidence:
    return has_code(scene.seen["join without a token"], "E011")


@POST.recommended(
    "late",
    "A choice after the limit is refused with -1, and told which limit that was.",
    "001-L1158",
    "001-L1169",
    "001-L1170",
    "decision 32",
    needs=[*CAN_PLAY, join, silent_call],
)
async def late(scene: RefereeScene) -> Evidence:
    check_knows_tokens(scene)
    bout = scene.bouts["silent call"]
    if not bout.reports:
        raise NotRun("no match was lost by a choice that did not come")
    seat = bout.seats["A"]
    exchange = await _post(scene, "choice too late", CHOICE, seat.choice("even"))
    is_refusal(exchange, -1)
    data = exchange.error.get("data")
    wanted = {"player_id": seat.player_id, "timeout_seconds": bout.assignment.time_limits.choice_seconds}
    found = {name: data.get(name) for name in wanted} if isinstance(data, dict) else {}
    expected = f"data with {wanted}, retry_count and max_retries"
    if found != wanted or not isinstance(data, dict) or not {"retry_count", "max_retries"} <= data.keys():
        raise exchange.failed(expected)
    return exchange.evidence(expected)
