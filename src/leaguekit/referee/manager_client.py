"""What a referee tells the manager by itself: results until the manager has them, the rest as best it can.

A ruling is written to the journal before anybody hears of it, and marked there when the manager has it; what is not
marked is told and delivered after a restart.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from msgspec import UNSET, structs

from leaguekit.agents.calls import ask, cause_of, deliver, passes, reachable
from leaguekit.agents.logs import about
from leaguekit.agents.registration import Identity, Registrar, RegistrationRefused
from leaguekit.agents.world import World
from leaguekit.protocol import messages as m
from leaguekit.protocol.codes import without_codes
from leaguekit.protocol.decoding import encode
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.rpc import RpcRefusal
from leaguekit.referee.match_runner import MatchRunner, RulingRecord
from leaguekit.referee.transcripts import WrittenTranscript
from leaguekit.transport.base import TOO_OFTEN, Caller, CallerLate, CallFailed

log = logging.getLogger(__name__)

RETRY_SECONDS = 2.0
PROGRESS_SECONDS = 5.0
# Most matches of programs are over sooner; of others the manager hears soon enough.
PROGRESS_PAUSE = 0.25
TRANSCRIPT_SECONDS = 10.0
TRANSCRIPT_TRIES = 4
TELL_TRIES = 5

Report = m.MatchResultReport | m.MatchVoidReport

_DUPLICATE = 5003
_INVALID_TOKEN = (5001, 12)
# The league has not started yet.
_TOO_EARLY = "E030"


class ManagerClient:
    """A referee's line to its manager."""

    def __init__(self, world: World, manager_url: str, registrar: Registrar) -> None:
        self._world = world
        self._manager_url = without_codes(manager_url)
        self._registrar = registrar
        self._pauses: dict[MatchRunner, asyncio.TimerHandle] = {}
        self._telling: set[asyncio.Task[None]] = set()
        # Then a manager that is gone may be gone for good.
        self.league_is_over = False

    async def deliver(self, report: Report) -> bool:
        """Report until the manager has it or will never take it; False if only a later start may succeed."""
        while True:
            token = self._identity().auth_token
            try:
                await ask(
                    self._world.caller, self._manager_url, _signed(report, token), BY_REQUEST[type(report)].answer
                )
            except RpcRefusal as refusal:
                if _is_final(refusal, report):
                    return True
                if _is_about_token(refusal) and not await self._renewed(token):
                    return False
            except (CallFailed, CallerLate, ProtocolError) as failure:
                log.warning("%s is not reported yet: %s", report.match_id, failure, extra=about(report))
            else:
                log.info("%s is reported: %s", report.match_id, _outcome(report), extra=about(report))
                return True
            await asyncio.sleep(RETRY_SECONDS)

    async def tell_again(self, ruling: RulingRecord) -> None:
        """After a restart, tell the players how their match ended: they may be starting as well."""
        speaks: Sequence[tuple[str, str | None] | None] = ruling.speaks or [None] * len(ruling.game_over)
        told = zip(ruling.game_over, speaks, strict=True)
        await asyncio.gather(*(self._tell_again(url, over, to) for (url, over), to in told))

    async def _tell_again(self, url: str, over: m.GameOver, to: tuple[str, str | None] | None) -> None:
        for _ in range(TELL_TRIES):
            try:
                if to is None:
                    await ask(self._world.caller, url, over, m.GameOverAck)
                else:
                    await _tell_openly(self._world.caller, url, over, to)
            except (CallFailed, CallerLate, RpcRefusal, ProtocolError) as failure:
                log.debug("the end of %s is not told yet: %s", over.match_id, failure)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    def entered(self, match: MatchRunner) -> None:
        """A match has come to a new stage: the manager is told where it stands after a pause."""
        if match not in self._pauses:
            loop = asyncio.get_running_loop()
            self._pauses[match] = loop.call_later(PROGRESS_PAUSE, self._begin_telling, match)

    def left(self, match: MatchRunner) -> None:
        """A match is over: what was to be told of its progress is old."""
        if (pause := self._pauses.pop(match, None)) is not None:
            pause.cancel()

    def _begin_telling(self, match: MatchRunner) -> None:
        del self._pauses[match]
        telling = asyncio.create_task(self._tell_progress(match))
        self._telling.add(telling)
        telling.add_done_callback(self._telling.discard)

    async def _tell_progress(self, match: MatchRunner) -> None:
        identity = self._identity()
        if not identity.derived:
            return
        try:
            message = _signed(match.progress(), identity.auth_token)
            await deliver(self._world.caller, self._manager_url, message, PROGRESS_SECONDS)
        except (CallFailed, CallerLate) as failure:
            log.debug("progress is not reported: %s", failure)

    async def close(self) -> None:
        for pause in self._pauses.values():
            pause.cancel()
        for telling in self._telling:
            telling.cancel()
        await asyncio.gather(*self._telling, return_exceptions=True)

    async def hand_in(self, transcript: WrittenTranscript) -> None:
        """Post a match's transcript, for as long as it takes while the manager is down."""
        url = f"{self._transcripts_url}{transcript.match_id}"
        tries = 0
        while tries < TRANSCRIPT_TRIES:
            identity = self._identity()
            if not identity.derived:
                return
            try:
                came = await self._world.caller.post(
                    url, encode(_signed(transcript, identity.auth_token)), TRANSCRIPT_SECONDS
                )
            except (CallFailed, CallerLate) as failure:
                log.debug("the transcript of %s is not delivered: %s", transcript.match_id, failure)
                tries += self.league_is_over or await self._manager_is_there()
            else:
                if came.status < 500 and came.status != TOO_OFTEN:
                    return
                tries += 1
            await asyncio.sleep(RETRY_SECONDS)

    @cached_property
    def _transcripts_url(self) -> str:
        return urlsplit(self._manager_url)._replace(path="/transcripts/", query="", fragment="").geturl()

    async def _manager_is_there(self) -> bool:
        try:
            await reachable(self._world.caller, self._manager_url, RETRY_SECONDS)
        except (CallFailed, CallerLate):
            return False
        return True

    async def _renewed(self, refused: str | None) -> bool:
        try:
            await self._registrar.renew(refused)
        except RegistrationRefused:
            log.exception("results cannot be reported: the manager does not take this referee back")
            return False
        return True

    def _identity(self) -> Identity:
        identity = self._registrar.identity
        if identity is None:
            raise RuntimeError("a referee reports only after it has registered")
        return identity


async def _tell_openly(caller: Caller, url: str, over: m.GameOver, to: tuple[str, str | None]) -> None:
    from leaguekit.referee.open_player_client import tell  # noqa: PLC0415 - the spec profile does without

    await tell(caller, url, over, to, BY_REQUEST[m.GameOver].seconds)


def _signed(message: Any, token: str | None) -> Any:
    return structs.replace(message, auth_token=token or UNSET)


def _outcome(report: Report) -> str:
    if isinstance(report, m.MatchVoidReport):
        return f"void. {report.reason}"
    result = report.result
    return str(result.details.ruling) if result.winner is None else f"{result.details.ruling} for {result.winner}"


def _is_about_token(refusal: RpcRefusal) -> bool:
    return refusal.error.code in _INVALID_TOKEN or cause_of(refusal) in ("E011", "E012")


def _is_final(refusal: RpcRefusal, report: Report) -> bool:
    """Whether nothing more can be done: the manager has it already, or will never take it."""
    if refusal.error.code == _DUPLICATE or cause_of(refusal) == "E054":
        log.info("the manager had %s already", report.match_id, extra=about(report))
        return True
    if _is_about_token(refusal) or passes(refusal) or cause_of(refusal) == _TOO_EARLY:
        log.warning("%s is not reported yet: %s", report.match_id, refusal, extra=about(report))
        return False
    data = refusal.error.data
    context = data.get("context") if isinstance(data, dict) else None
    detail = context.get("detail", "") if isinstance(context, dict) else ""
    log.error("the manager does not take %s: %s. %s", report.match_id, refusal, detail, extra=about(report))
    return True
