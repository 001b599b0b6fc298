"""Answers that players post to the referee as requests, instead of answering its call."""

from __future__ import annotations

from leaguekit.kit.answer_checks import is_refusal
from leaguekit.kit.checks import Area, Evidence, NotRun
from leaguekit.kit.documented_game import ONE, OTHER, WRONG_CHOICES, ChoiceCall
from leaguekit.kit.exchanges import Exchange, is_a, with_changes
from leaguekit.kit.field_checks import value
from leaguekit.kit.harness import SECONDS
from leaguekit.kit.referee.faults import NO_TOKENS, is_technical
from leaguekit.kit.referee.harness import FORGED_AUTH, RefereeHarness
from leaguekit.kit.referee.kit_players import joins, no_answer, plan
from leaguekit.kit.referee.results import CAN_PLAY
from leaguekit.kit.referee.retries import silent_call
from leaguekit.kit.rpc_checks import has_error_code
from leaguekit.protocol import messages as m

POST: Area[RefereeHarness] = Area("post", "What players post by themselves")

# Long enough for all requests of these checks, also over a slow network.
LONG_LIMITS = m.TimeLimits(join_seconds=10, choice_seconds=10, game_over_seconds=1, max_retries=3, retry_seconds=0.4)


def _is_acknowledged(exchange: Exchange) -> Evidence:
    return exchange.fail_if(exchange.message.get("status") != "ACKNOWLEDGED", "a result with status: ACKNOWLEDGED")


@POST.recommended("000-L0577", "decision 32", needs=CAN_PLAY)
async def join(harness: RefereeHarness) -> Evidence:
    """A player may post GAME_JOIN_ACK by itself, with its token."""
    harness.require_assignments(NO_TOKENS)
    match = await harness.new_match(
        "posts", plan(join=no_answer, choose=no_answer), plan(OTHER, join=joins(after=0.1)), limits=LONG_LIMITS
    )
    a, b = match.players["A"], match.players["B"]
    await harness.start(match)
    await a.inbox.wait_for(is_a(m.GameInvitation), SECONDS)
    await harness.send("choice too early", a.choice(ONE))
    await harness.send("join by a stranger", a.join(auth_token=FORGED_AUTH))
    await harness.send("join without a token", with_changes(a.join(), {"auth_token": ...}))
    await harness.send("join in an unknown match", a.join(match_id="R99M9"))
    joined = await harness.send("join", a.join())
    await a.inbox.wait_for(is_a(ChoiceCall), SECONDS if joined.result else 0.0)
    await harness.send("choice by a stranger", a.choice(OTHER, auth_token=FORGED_AUTH))
    await harness.send("choice for the other", b.choice(ONE, auth_token=a.token))
    await harness.send("wrong choice", a.choice(WRONG_CHOICES[0]))
    await harness.send("choice", a.choice(ONE))
    await harness.wait_for_end(match, LONG_LIMITS.join_seconds + LONG_LIMITS.choice_seconds)
    await harness.send("choice after the end", a.choice(ONE))
    return _is_acknowledged(joined)


@POST.recommended("000-L0812", "decision 32", needs=[*CAN_PLAY, join])
async def choice(harness: RefereeHarness) -> Evidence:
    """A player may post CHOOSE_PARITY_RESPONSE by itself, with its token."""
    found = _is_acknowledged(harness.answers["choice"])
    match = harness.matches["posts"]
    chosen = value(match.result, f"details.choices.{match.players['A'].player_id}")
    match.report.fail_if(chosen != ONE or is_technical(match), f"the choice that was posted, {ONE}")
    return found


@POST.required("003-L0130c", "001-L1940", "decision 32", needs=CAN_PLAY)
async def stranger(harness: RefereeHarness) -> Evidence:
    """What is posted with a wrong token does not count: it neither joins nor chooses for a player."""
    for name in ("join by a stranger", "join without a token", "choice by a stranger", "choice for the other"):
        is_refusal(harness.answers[name])
    return harness.answers["choice by a stranger"].evidence("a refusal")


def _add_number_check(name: str, posted: str, number: int, sentence: str, *requirements: str) -> None:
    @POST.recommended(*requirements, "decision 32", name=name, sentence=sentence, needs=[*CAN_PLAY, join, stranger])
    async def refused(harness: RefereeHarness) -> Evidence:
        return is_refusal(harness.answers[posted], number)


_add_number_check(
    "token", "choice by a stranger", 4001, "A wrong token is refused with 4001.", "001-L0998", "001-L1941"
)
_add_number_check("match", "join in an unknown match", 4003, "An unknown match is refused with 4003.", "001-L1000")
_add_number_check("wrong_choice", "wrong choice", 4004, "A wrong choice is refused with 4004.", "001-L1156")
_add_number_check("state", "choice too early", 4005, "A choice before the call is refused with 4005.", "001-L1157")
_add_number_check("over", "choice after the end", 4005, "A choice after the end is refused with 4005.", "001-L1157")


@POST.recommended("000-L1228", "decision 32", needs=[*CAN_PLAY, join, stranger])
async def no_token(harness: RefereeHarness) -> Evidence:
    """What is posted without a token is refused with E011."""
    return has_error_code(harness.answers["join without a token"], "E011")


@POST.recommended("001-L1158", "001-L1169", "001-L1170", "decision 32", needs=[*CAN_PLAY, join, silent_call])
async def late(harness: RefereeHarness) -> Evidence:
    """A choice after the limit is refused with -1, and the answer names the limit."""
    harness.require_assignments(NO_TOKENS)
    match = harness.matches["silent call"]
    if not match.reports:
        raise NotRun("no match was lost by a choice that did not come")
    player = match.players["A"]
    exchange = await harness.send("choice too late", player.choice(ONE))
    is_refusal(exchange, -1)
    data = exchange.error_data
    wanted = {"player_id": player.player_id, "timeout_seconds": match.assignment.time_limits.choice_seconds}
    found = {name: data.get(name) for name in wanted}
    is_right = found == wanted and {"retry_count", "max_retries"} <= data.keys()
    return exchange.fail_if(not is_right, f"data with {wanted}, retry_count and max_retries")
