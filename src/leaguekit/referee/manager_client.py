"""The client by which a referee calls its manager.

A report is sent until the manager has it. Progress is sent once, and a transcript a few times.

A ruling is written to the journal before it is sent to anyone, and marked there when the manager has the report. The
rulings without a mark are sent again after a restart.
"""

from __future__ import annotations

import asyncio
import logging
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from msgspec import UNSET, structs

from leaguekit.agents.calls import ask, deliver, detail_of, error_code_of, is_transient, ping
from leaguekit.agents.identity import Identity
from leaguekit.agents.logs import log_fields
from leaguekit.agents.registration import Registrar, RegistrationRefused
from leaguekit.agents.tasks import Tasks, cancel
from leaguekit.agents.world import World
from leaguekit.protocol import messages as m
from leaguekit.protocol.codes import without_codes
from leaguekit.protocol.decoding import encode
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.rpc import RpcRefusal
from leaguekit.referee.match_runner import MatchRunner
from leaguekit.referee.transcripts import WrittenTranscript
from leaguekit.transport.base import TOO_MANY_REQUESTS, UNAVAILABLE_STATUSES, CallerLate, CallFailed

log = logging.getLogger(__name__)

RETRY_SECONDS = 2.0
PROGRESS_SECONDS = 5.0
# A new stage or turn is reported after this pause. Most matches between programs are over sooner, and need
# no call.
PROGRESS_DELAY_SECONDS = 0.25
TRANSCRIPT_SECONDS = 10.0
MAX_TRANSCRIPT_TRIES = 4

Report = m.MatchResultReport | m.MatchVoidReport

_DUPLICATE = 5003
_INVALID_TOKENS = (5001, 12)
# The league has not started yet.
_TOO_EARLY = "E030"


class ManagerClient:
    """Sends a referee's reports, progress and transcripts to its manager."""

    def __init__(self, world: World, manager_url: str, registrar: Registrar) -> None:
        self._world = world
        self._manager_url = without_codes(manager_url)
        self._registrar = registrar
        # The matches with a new stage or turn, in the order of the times at which their progress is due. One timer
        # serves them all, because most of them are over before.
        self._due: dict[MatchRunner, float] = {}
        self._due_timer: asyncio.TimerHandle | None = None
        self._tasks = Tasks(lambda error: log.error("progress is not reported", exc_info=error))
        # After the league's end the manager may have stopped for good.
        self.league_is_over = False

    async def deliver_report(self, report: Report, record: m.MatchRecord | None = None) -> bool:
        """Send a report until the manager has it or refuses it for good. False if only a restart can help.

        ``record`` is that of a match which is too long for its report. It is posted before the report.
        """
        while True:
            token = self._identity().auth_token
            try:
                if record is not None:
                    url = f"{self._url_of('/records/')}{record.match_id}"
                    await self._world.caller.post(url, encode(_signed(record, token)), TRANSCRIPT_SECONDS)
                await ask(
                    self._world.caller, self._manager_url, _signed(report, token), BY_REQUEST[type(report)].answer
                )
            except RpcRefusal as refusal:
                if _is_final(refusal, report):
                    return True
                if _is_about_token(refusal) and not await self._renew_token(token):
                    return False
            except (CallFailed, CallerLate, ProtocolError) as failure:
                log.warning("%s is not reported yet: %s", report.match_id, failure, extra=log_fields(report))
            else:
                log.info("%s is reported: %s", report.match_id, _outcome(report), extra=log_fields(report))
                return True
            await asyncio.sleep(RETRY_SECONDS)

    def schedule_progress(self, runner: MatchRunner) -> None:
        """Send the progress of a match after a delay. To be called at every new stage and turn."""
        if runner not in self._due:
            loop = asyncio.get_running_loop()
            due_at = self._due[runner] = loop.time() + PROGRESS_DELAY_SECONDS
            if self._due_timer is None:
                self._due_timer = loop.call_at(due_at, self._send_due, loop)

    def _send_due(self, loop: asyncio.AbstractEventLoop) -> None:
        """Send the progress that is due, and set the timer for the next."""
        self._due_timer = None
        now = loop.time()
        for runner, due_at in list(self._due.items()):
            if due_at > now:
                self._due_timer = loop.call_at(due_at, self._send_due, loop)
                return
            del self._due[runner]
            # The last position shows all choices. Nobody may see them before the ruling is written and sent.
            if not runner.is_over:
                self._tasks.start(self._send_progress(runner))

    async def _send_progress(self, runner: MatchRunner) -> None:
        identity = self._identity()
        if not identity.derived:
            return
        try:
            message = _signed(runner.progress(), identity.auth_token)
            await deliver(self._world.caller, self._manager_url, message, PROGRESS_SECONDS)
        except (CallFailed, CallerLate) as failure:
            log.debug("progress is not reported: %s", failure)

    async def close(self) -> None:
        if self._due_timer is not None:
            self._due_timer.cancel()
        await cancel(*self._tasks)

    async def send_transcript(self, transcript: WrittenTranscript) -> None:
        """Post the transcript of a match. Tries are counted only while the manager can be reached."""
        url = f"{self._transcripts_url}{transcript.match_id}"
        tries = 0
        while tries < MAX_TRANSCRIPT_TRIES:
            identity = self._identity()
            if not identity.derived:
                return
            try:
                answer = await self._world.caller.post(
                    url, encode(_signed(transcript, identity.auth_token)), TRANSCRIPT_SECONDS
                )
            except (CallFailed, CallerLate) as failure:
                log.debug("the transcript of %s is not delivered: %s", transcript.match_id, failure)
                tries += self.league_is_over or await self._is_manager_reachable()
            else:
                if answer.status < 500 and answer.status != TOO_MANY_REQUESTS:
                    return
                tries += self.league_is_over or answer.status not in UNAVAILABLE_STATUSES
            await asyncio.sleep(RETRY_SECONDS)

    @cached_property
    def _transcripts_url(self) -> str:
        return self._url_of("/transcripts/")

    def _url_of(self, path: str) -> str:
        """The URL of a path at the manager."""
        return urlsplit(self._manager_url)._replace(path=path, query="", fragment="").geturl()

    async def _is_manager_reachable(self) -> bool:
        try:
            await ping(self._world.caller, self._manager_url, RETRY_SECONDS)
        except (CallFailed, CallerLate):
            return False
        return True

    async def _renew_token(self, refused: str | None) -> bool:
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


def _signed(message: Any, token: str | None) -> Any:
    return structs.replace(message, auth_token=token or UNSET)


def _outcome(report: Report) -> str:
    if isinstance(report, m.MatchVoidReport):
        return f"void. {report.reason}"
    result = report.result
    return str(result.details.ruling) if result.winner is None else f"{result.details.ruling} for {result.winner}"


def _is_about_token(refusal: RpcRefusal) -> bool:
    return refusal.error.code in _INVALID_TOKENS or error_code_of(refusal) in ("E011", "E012")


def _is_final(refusal: RpcRefusal, report: Report) -> bool:
    """Whether the manager has the report already, or will never accept it."""
    if refusal.error.code == _DUPLICATE or error_code_of(refusal) == "E054":
        log.info("the manager had %s already", report.match_id, extra=log_fields(report))
        return True
    if _is_about_token(refusal) or is_transient(refusal) or error_code_of(refusal) == _TOO_EARLY:
        log.warning("%s is not reported yet: %s", report.match_id, refusal, extra=log_fields(report))
        return False
    values = (report.match_id, refusal, detail_of(refusal))
    log.error("the manager does not take %s: %s. %s", *values, extra=log_fields(report))
    return True
