"""Events that are not part of a normal match: errors, repeated requests, technical losses, large tables."""

from __future__ import annotations

from leaguekit.kit.answer_checks import came_in_time
from leaguekit.kit.checks import Area, Evidence
from leaguekit.kit.player.harness import PlayerHarness
from leaguekit.kit.player.matches import (
    CAN_CHOOSE,
    CAN_JOIN,
    accepts_invitation,
    add_notice_checks,
    game_over_notice,
    makes_legal_choice,
    standings_notice,
)
from leaguekit.match.move_messages import messages_of
from leaguekit.protocol import messages as m

# A table of that size is much longer than 10 KB, the longest message that a player may send.
MANY_PLAYERS = 100

ERROR: Area[PlayerHarness] = Area("error", "Errors of a match")
REPEAT: Area[PlayerHarness] = Area("repeat", "Repeats")
LOSS: Area[PlayerHarness] = Area("loss", "Technical losses")
TOLERANCE: Area[PlayerHarness] = Area("tolerance", "What may come besides")


async def _play_other_match(harness: PlayerHarness) -> None:
    harness.other_match = match = await harness.match_in_new_round(side="B")
    await harness.send("second invitation", match.invitation())
    await harness.send("second call", match.call())


add_notice_checks(
    ERROR,
    lambda harness: harness.other_match.error(messages_of(harness.game).error_code, "The choice was not legal."),
    m.GameError,
    *(1620, "001-L1565", "000-L1578"),
    prepare=_play_other_match,
)


@ERROR.required("000-L0856", "000-L1334", "decision 31", needs=CAN_CHOOSE)
async def choice_again(harness: PlayerHarness) -> Evidence:
    """After GAME_ERROR E004 (E057 in other games), the player answers the same call again with a legal choice."""
    return await makes_legal_choice(harness, "choice after an illegal one", harness.other_match)


@ERROR.required("003-L0300", "000-L1247", "001-L1035", needs=CAN_JOIN)
async def invitation_again(harness: PlayerHarness) -> Evidence:
    """After GAME_ERROR E001, the player accepts the invitation when it comes again."""
    match = await harness.match_in_new_round()
    await harness.send("E001", match.error("E001", "The invitation was not answered in time.", "WAITING_FOR_PLAYERS"))
    return await accepts_invitation(harness, "invitation after E001", match)


@ERROR.required("003-L0300", "001-L1193", needs=[*CAN_JOIN, *CAN_CHOOSE])
async def timeout_again(harness: PlayerHarness) -> Evidence:
    """After GAME_ERROR E001, the player answers the call when it comes again."""
    match = await harness.match_in_new_round()
    await harness.send("third invitation", match.invitation())
    await harness.send("E001", match.error("E001", "The call was not answered in time."))
    return await makes_legal_choice(harness, "choice after E001", match)


@REPEAT.required("001-L1035", "000-L0571", name="invitation", needs=CAN_JOIN)
async def same_invitation(harness: PlayerHarness) -> Evidence:
    """The player accepts an invitation that comes a second time: its answer may have been lost."""
    harness.other_match = match = await harness.match_in_new_round(side="B")
    await harness.send("invitation", match.invitation())
    return await accepts_invitation(harness, "invitation once more", match)


@REPEAT.required("001-L1193", "000-L0806", name="call", needs=[*CAN_JOIN, *CAN_CHOOSE])
async def same_call(harness: PlayerHarness) -> Evidence:
    """The player answers a call that comes a second time with a legal choice."""
    match = harness.other_match
    await harness.send("call", match.call())
    return await makes_legal_choice(harness, "call once more", match)


@REPEAT.required("000-L0737", "decision 34", name="result", needs=[game_over_notice.answered])
async def same_result(harness: PlayerHarness) -> Evidence:
    """The player takes GAME_OVER twice."""
    match = harness.other_match
    match.play(match.options()[0])
    over = match.game_over()
    await harness.send("result", over)
    return came_in_time(await harness.send("result once more", over))


@LOSS.required("000-L0857", "decision 33", name="told", needs=[game_over_notice.answered])
async def technical_loss(harness: PlayerHarness) -> Evidence:
    """The player answers a GAME_OVER that gives it a technical loss, with null for number and parity."""
    match = await harness.match_in_new_round()
    await harness.send("invitation to a loss", match.invitation())
    return came_in_time(await harness.send("loss", match.technical_loss(match.side)))


@LOSS.required("000-L0571", "003-L0039", name="plays_on", needs=CAN_JOIN)
async def plays_on_after_loss(harness: PlayerHarness) -> Evidence:
    """After a technical loss, the player accepts its next invitation."""
    return await accepts_invitation(harness, "next invitation", await harness.match_in_new_round())


@LOSS.required("000-L0878", "decision 33", name="win", needs=[game_over_notice.answered])
async def technical_win(harness: PlayerHarness) -> Evidence:
    """The player answers a GAME_OVER by which its opponent loses technically."""
    match = await harness.match_in_new_round(side="B")
    await harness.send("invitation to a win", match.invitation())
    return came_in_time(await harness.send("win", match.technical_loss()))


@TOLERANCE.required("003-L0293c", "decision 35", needs=CAN_JOIN)
async def unannounced(harness: PlayerHarness) -> Evidence:
    """The player accepts an invitation to a round that was not announced to it."""
    return await accepts_invitation(
        harness, "invitation without announcement", await harness.match_in_new_round(announced=False)
    )


@TOLERANCE.required("000-L1594", needs=CAN_JOIN)
async def unknown_fields(harness: PlayerHarness) -> Evidence:
    """The player ignores fields that it does not know."""
    match = await harness.match_in_new_round()
    more = {"of": ["league.v2"]}
    return await accepts_invitation(harness, "invitation with more fields", match, from_a_later_version=more)


@TOLERANCE.required("000-L1567", "decision 6", needs=[standings_notice.answered])
async def large_table(harness: PlayerHarness) -> Evidence:
    """The player takes the standings of a league of {MANY_PLAYERS} players."""
    return came_in_time(await harness.send("large table", harness.standings_update(MANY_PLAYERS)))
