"""What a league brings besides the plain course: errors and another try, repeats, technical losses, large tables."""

from __future__ import annotations

import msgspec

from leaguekit.kit.answer_checks import came_in_time
from leaguekit.kit.checks import Area, Evidence
from leaguekit.kit.exchanges import Exchange
from leaguekit.kit.player.harness import PlayerScene
from leaguekit.kit.player.matches import (
    CAN_CHOOSE,
    CAN_JOIN,
    chooses,
    notice,
    over_told,
    plays_on,
    standings_told,
)
from leaguekit.protocol import messages as m

# A table of a hundred players is well over the 10 KB that a player may send.
MANY_PLAYERS = 100

ERROR: Area[PlayerScene] = Area("error", "Errors of a match")
REPEAT: Area[PlayerScene] = Area("repeat", "Repeats")
LOSS: Area[PlayerScene] = Area("loss", "Technical losses")
TOLERANCE: Area[PlayerScene] = Area("tolerance", "What may come besides")


async def _tell_of_wrong_choice(scene: PlayerScene) -> Exchange:
    scene.other_match = bout = await scene.fresh(side="B")
    await scene.say("second invitation", bout.invitation())
    await scene.say("second call", bout.call())
    return await scene.say("error", bout.error("E004", "The choice was not legal."))


notice(
    ERROR,
    m.GameError,
    _tell_of_wrong_choice,
    limit=("001-L1565", "000-L1578"),
    acknowledged=("001-L1620", "001-L1621"),
    ids=("001-L1622", "001-L1623"),
)


@ERROR.required(
    "choice_again",
    "After GAME_ERROR E004, the player answers the same call again with a legal choice.",
    "000-L0856",
    "000-L1334",
    "decision 31",
    needs=CAN_CHOOSE,
)
async def choice_again(scene: PlayerScene) -> Evidence:
    bout = scene.other_match
    return chooses(await scene.say("choice after E004", bout.call()), bout)


@ERROR.required(
    "invitation_again",
    "After GAME_ERROR E001, the player accepts the invitation when it comes again.",
    "003-L0300",
    "000-L1247",
    "001-L1035",
    needs=CAN_JOIN,
)
async def invitation_again(scene: PlayerScene) -> Evidence:
    bout = await scene.fresh()
    await scene.say("E001", bout.error("E001", "The invitation was not answered in time.", "WAITING_FOR_PLAYERS"))
    return plays_on(await scene.say("invitation after E001", bout.invitation()), bout)


@ERROR.required(
    "timeout_again",
    "After GAME_ERROR E001, the player answers the call when it comes again.",
    "003-L0300",
    "001-L1193",
    needs=[*CAN_JOIN, *CAN_CHOOSE],
)
async def timeout_again(scene: PlayerScene) -> Evidence:
    bout = await scene.fresh()
    await scene.say("third invitation", bout.invitation())
    await scene.say("E001", bout.error("E001", "The call was not answered in time."))
    return chooses(await scene.say("choice after E001", bout.call()), bout)


@REPEAT.required(
    "invitation",
    "The player accepts an invitation that comes a second time: its answer may have been lost.",
    "001-L1035",
    "000-L0571",
    needs=CAN_JOIN,
)
async def same_invitation(scene: PlayerScene) -> Evidence:
    scene.other_match = bout = await scene.fresh(side="B")
    await scene.say("invitation", bout.invitation())
    return plays_on(await scene.say("invitation once more", bout.invitation()), bout)


@REPEAT.required(
    "call",
    "The player answers a call that comes a second time with a legal choice.",
    "001-L1193",
    "000-L0806",
    needs=[*CAN_JOIN, *CAN_CHOOSE],
)
async def same_call(scene: PlayerScene) -> Evidence:
    bout = scene.other_match
    await scene.say("call", bout.call())
    return chooses(await scene.say("call once more", bout.call()), bout)


@REPEAT.required("result", "The player takes GAME_OVER twice.", "000-L0737", "decision 34", needs=[over_told.answered])
async def same_result(scene: PlayerScene) -> Evidence:
    bout = scene.other_match
    bout.play(bout.options()[0])
    over = bout.over()
    await scene.say("result", over)
    return came_in_time(await scene.say("result once more", over))


@LOSS.required(
    "told",
    "The player answers a GAME_OVER that gives it a technical loss, with null for number and parity.",
    "000-L0857",
    "decision 33",
    needs=[over_told.answered],
)
async def told_of_loss(scene: PlayerScene) -> Evidence:
    bout = await scene.fresh()
    await scene.say("invitation to a loss", bout.invitation())
    return came_in_time(await scene.say("loss", bout.lost(bout.side)))


@LOSS.required(
    "plays_on",
    "After a technical loss, the player accepts its next invitation.",
    "000-L0571",
    "003-L0039",
    needs=CAN_JOIN,
)
async def plays_on_after_loss(scene: PlayerScene) -> Evidence:
    bout = await scene.fresh()
    return plays_on(await scene.say("next invitation", bout.invitation()), bout)


@LOSS.required(
    "win",
    "The player answers a GAME_OVER by which its opponent loses technically.",
    "000-L0878",
    "decision 33",
    needs=[over_told.answered],
)
async def told_of_win(scene: PlayerScene) -> Evidence:
    bout = await scene.fresh(side="B")
    await scene.say("invitation to a win", bout.invitation())
    return came_in_time(await scene.say("win", bout.lost()))


@TOLERANCE.required(
    "unannounced",
    "The player accepts an invitation to a round that was not announced to it.",
    "003-L0293c",
    "decision 35",
    needs=CAN_JOIN,
)
async def unannounced(scene: PlayerScene) -> Evidence:
    bout = await scene.fresh(announced=False)
    return plays_on(await scene.say("invitation without announcement", bout.invitation()), bout)


@TOLERANCE.required(
    "unknown_fields",
    "The player ignores fields that it does not know.",
    "000-L1594",
    needs=CAN_JOIN,
)
async def unknown_fields(scene: PlayerScene) -> Evidence:
    bout = await scene.fresh()
    message = msgspec.to_builtins(bout.invitation()) | {"from_a_later_version": {"of": ["league.v2"]}}
    return plays_on(await scene.say("invitation with more fields", message), bout)


@TOLERANCE.required(
    "large_table",
    f"The player takes the standings of a league of {MANY_PLAYERS} players.",
    "000-L1567",
    "decision 6",
    needs=[standings_told.answered],
)
async def large_table(scene: PlayerScene) -> Evidence:
    return came_in_time(await scene.say("large table", scene.standings_update(MANY_PLAYERS)))
