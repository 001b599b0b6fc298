"""Sends the results of matches to their players again after a referee's restart."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from leaguekit.agents.calls import ask
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.rpc import RpcRefusal
from leaguekit.referee.match_runner import RulingRecord
from leaguekit.transport.base import Caller, CallerLate, CallFailed

log = logging.getLogger(__name__)

MAX_TRIES = 5
# The players may be starting as well.
RETRY_SECONDS = 2.0


async def resend_game_over(caller: Caller, ruling: RulingRecord) -> None:
    """Send GAME_OVER to the players of a match whose ruling an earlier run wrote to the journal."""
    forms: Sequence[tuple[str, str | None] | None] = ruling.speaks or [None] * len(ruling.game_over)
    receivers = zip(ruling.game_over, forms, strict=True)
    await asyncio.gather(*(_resend(caller, url, message, form) for (url, message), form in receivers))


async def _resend(caller: Caller, url: str, message: m.GameOver, form: tuple[str, str | None] | None) -> None:
    for _ in range(MAX_TRIES):
        try:
            if form is None:
                await ask(caller, url, message, m.GameOverAck)
            else:
                await _notify_openly(caller, url, message, form)
        except (CallFailed, CallerLate, RpcRefusal, ProtocolError) as failure:
            log.debug("the end of %s is not told yet: %s", message.match_id, failure)
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return


async def _notify_openly(caller: Caller, url: str, message: m.GameOver, form: tuple[str, str | None]) -> None:
    from leaguekit.referee.open_player_client import notify_player  # noqa: PLC0415 - not needed in the spec profile

    await notify_player(caller, url, message, form, BY_REQUEST[m.GameOver].seconds)
