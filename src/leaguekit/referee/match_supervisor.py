"""The matches of a referee, from the assignment to the report.

A match is played by a MatchRunner. Its ruling is written to the journal, sent to the players, and reported to the
manager. Several matches are played at the same time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec

from leaguekit.agents.calls import ask
from leaguekit.agents.identity import Identity
from leaguekit.agents.logs import log_fields
from leaguekit.agents.registration import Before, Registrar
from leaguekit.agents.tasks import Tasks, cancel
from leaguekit.agents.world import World
from leaguekit.match.rulings import Verdict
from leaguekit.match.signals import Void
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.rpc import RpcRefusal
from leaguekit.referee import announced_matches
from leaguekit.referee.manager_client import ManagerClient
from leaguekit.referee.match_file import MatchFile
from leaguekit.referee.match_runner import MatchRunner, RulingRecord
from leaguekit.referee.player_client import PlayerClientFactory
from leaguekit.referee.ruling_journal import RulingJournal
from leaguekit.referee.transcripts import WrittenTranscript
from leaguekit.store.base import StoreError
from leaguekit.store.journal import Journal
from leaguekit.store.json_files import JsonPaths, JsonWriter
from leaguekit.transport.base import Caller, CallerLate, CallFailed

log = logging.getLogger(__name__)

# The number of matches whose players may still ask for their state.
MAX_REMEMBERED = 200
# How often GAME_OVER is sent after a restart, and the pause in between. The players may be starting as well.
MAX_RESENDS = 5
RESEND_SECONDS = 2.0


class MatchSupervisor:
    """Starts the matches of a referee, and takes each of them to its report.

    ``choose_client`` returns the factory of the player client for an assignment. ``on_start`` is called when a match
    starts.
    """

    def __init__(
        self,
        world: World,
        registrar: Registrar,
        manager_client: ManagerClient,
        choose_client: Callable[[m.MatchAssignment], PlayerClientFactory],
        on_start: Callable[[], None],
        *,
        game_types: Sequence[str],
        max_concurrent: int,
    ) -> None:
        self._world = world
        self._registrar = registrar
        self._manager_client = manager_client
        self._choose_client = choose_client
        self._on_start = on_start
        self._game_types = game_types
        self._max_concurrent = max_concurrent
        self._json_paths = JsonPaths(world.data_root)
        self._json_writer = JsonWriter(files=world.files, inline=world.inline)
        self._journal: RulingJournal | None = None
        # By match id: the latest attempt that was accepted, the matches in play, and the matches that are remembered.
        self._attempts: dict[str, int] = {}
        self.in_play: dict[str, MatchRunner] = {}
        self.remembered: dict[str, MatchRunner] = {}
        # Matches that are not remembered any more, but still send their results.
        self._earlier: list[MatchRunner] = []
        # Set whenever a match leaves ``in_play``.
        self._has_capacity = asyncio.Event()
        self._tasks = Tasks(lambda error: log.error("a match could not be carried out", exc_info=error))

    @property
    def journal(self) -> RulingJournal:
        if self._journal is None:
            raise RuntimeError("a referee rules only after it has registered")
        return self._journal

    async def open_journal(self, identity: Identity, before: Before) -> None:
        """Open the journal, and deliver the rulings that an earlier run left in it."""
        if self._journal is not None:
            return
        path = self._registrar.folder(identity.league_id) / "journal.jsonl"
        # The rulings of another league with the same name do not belong to this one.
        is_ours = before != "another"
        file = await self._world.blocking(lambda: Journal(path, self._world.files, is_ours=is_ours))
        self._journal = RulingJournal(self._world, file)
        for match_id, attempt in file.delivered_keys():
            self._attempts[match_id] = max(attempt, self._attempts.get(match_id, 0))
        for entry in file.pending():
            ruling = msgspec.json.decode(entry, type=RulingRecord)
            self._attempts[ruling.match_id] = ruling.attempt
            self._tasks.start(self._deliver_again(ruling))

    def start(self, assignment: m.MatchAssignment, identity: Identity) -> str | None:
        """Start a match, unless this attempt has been started before. Returns the reason if it cannot be started."""
        match_id, attempt = assignment.match_id, assignment.attempt
        latest = self._attempts.get(match_id, 0)
        if attempt == latest:
            if match_id in self.in_play:
                # One of its players may have a new endpoint or a new token.
                self.in_play[match_id].seats.renew(assignment)
            return None
        if attempt < latest:
            return f"Attempt {latest} at {match_id} has been made since."
        if self._manager_client.league_is_over:
            return "The league is over."
        if assignment.game_type not in self._game_types:
            return f"This referee judges {', '.join(self._game_types)}, not {assignment.game_type}."
        # A new attempt means that the one before is void. That one does not count, but the new one waits for its end.
        void = self.in_play.get(match_id)
        if void is None and len(self.in_play) >= self._max_concurrent:
            return f"This referee plays {self._max_concurrent} matches at once, and has as many."
        try:
            make_client = self._choose_client(assignment)
            on_stage = self._manager_client.schedule_progress
            runner = MatchRunner(self._world, assignment, identity.agent_id, on_stage, make_client)
        except (ProtocolError, ValueError) as error:
            return f"The assignment cannot be carried out: {error}"
        self._on_start()
        self._attempts[match_id] = attempt
        self.in_play[match_id] = runner
        log.info("%s begins", match_id, extra=log_fields(assignment))
        self._tasks.start(self._run(runner, void))
        return None

    def start_announced(
        self, announcement: m.RoundAnnouncement, matches: list[m.AnnouncedMatch], identity: Identity
    ) -> None:
        """Start the matches of an announcement, for a manager that sends no assignments."""
        self._tasks.start(self._start_announced(announcement, matches, identity))

    async def wait_finished(self) -> None:
        """Wait until the manager has every report, and the files are written."""
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self._json_writer.flush()

    async def cancel(self) -> None:
        """Cancel everything that is under way. The rulings are in the journal."""
        await cancel(*self._tasks)
        for runner in [*self.remembered.values(), *self._earlier]:
            await runner.close()

    async def close(self) -> None:
        """Close the files. ``cancel`` comes first."""
        await self._json_writer.close()
        if self._journal is not None:
            await self._journal.close()

    async def _start_announced(
        self, announcement: m.RoundAnnouncement, matches: list[m.AnnouncedMatch], identity: Identity
    ) -> None:
        """Start announced matches, each when this referee has capacity for it."""
        manager_url, league_id = self._registrar.manager_url, announcement.league_id
        records = await announced_matches.fetch_records(self._world, manager_url, identity, league_id)
        for match in matches:
            while len(self.in_play) >= self._max_concurrent:
                self._has_capacity.clear()
                await self._has_capacity.wait()
            assignment = announced_matches.make_assignment(self._world, announcement, match, identity, records)
            reason = self.start(assignment, identity)
            if reason is not None:
                log.error("%s is announced for this referee and not played: %s", match.match_id, reason)

    async def _run(self, runner: MatchRunner, void: MatchRunner | None) -> None:
        """Play a match, and report it. ``void`` is an earlier attempt that has not ended yet."""
        if void is not None:
            await void.wait_ended()
        self._remember(runner)
        try:
            result = await self._play(runner)
        finally:
            # The manager may send the next match as soon as it has the report, so this comes before the report.
            if self.in_play.get(runner.match_id) is runner:
                del self.in_play[runner.match_id]
                self._has_capacity.set()
        if isinstance(result, Void):
            runner.transcript.add("ruled", note=f"VOID: {result.reason}")
            await self._manager_client.deliver_report(runner.messages.void(result))
            await self._manager_client.send_transcript(runner.messages.transcript(runner.transcript.text()))
            return
        verdict, ruling = result
        if self.remembered.get(ruling.match_id) is not runner:
            # The match was replaced or forgotten while its ruling was written.
            self._earlier.append(runner)
        await runner.send_result(verdict, ruling)
        await self._deliver(ruling)
        transcript = runner.messages.transcript(runner.transcript.text())
        self._write_match_file(ruling.report, transcript)
        await self._manager_client.send_transcript(transcript)

    async def _play(self, runner: MatchRunner) -> tuple[Verdict, RulingRecord] | Void:
        """Play a match, and write its ruling to the journal. If that fails, the match is void."""
        end = await runner.play()
        if isinstance(end, Void):
            return end
        ruling = runner.make_ruling(end.verdict)
        try:
            await self.journal.write(msgspec.json.encode(ruling))
        except StoreError:
            log.exception("%s cannot be written down", ruling.match_id, extra=log_fields(ruling.report))
            return Void("The referee could not write its ruling down.", {})
        return end.verdict, ruling

    async def _deliver(self, ruling: RulingRecord) -> None:
        if await self._manager_client.deliver_report(ruling.report, ruling.record):
            self.journal.mark_delivered(ruling.match_id, ruling.attempt)

    async def _deliver_again(self, ruling: RulingRecord) -> None:
        """Deliver a ruling of an earlier run. Neither the players nor the manager may have received it."""
        await resend_game_over(self._world.caller, ruling)
        await self._deliver(ruling)

    def _write_match_file(self, report: m.MatchResultReport, transcript: WrittenTranscript) -> None:
        identity = self._registrar.identity
        match_file = MatchFile(
            league_id=report.league_id,
            round_id=report.round_id,
            match_id=report.match_id,
            game_type=report.game_type,
            attempt=transcript.attempt,
            referee_id=None if identity is None else identity.agent_id,
            reported_at=transcript.timestamp,
            result=report.result,
            transcript=transcript.entries,
        )
        self._json_writer.put_once(self._json_paths.match(report.league_id, report.match_id), match_file)

    def _remember(self, runner: MatchRunner) -> None:
        before = self.remembered.pop(runner.match_id, None)
        self._earlier = [one for one in (*self._earlier, before) if one is not None and not one.is_idle]
        self.remembered[runner.match_id] = runner
        if len(self.remembered) > MAX_REMEMBERED:
            oldest = next((match_id for match_id, one in self.remembered.items() if one.is_idle), None)
            self.remembered.pop(oldest or "", None)


async def resend_game_over(caller: Caller, ruling: RulingRecord) -> None:
    """Send GAME_OVER to the players of a match whose ruling an earlier run wrote to the journal."""
    forms: Sequence[tuple[str, str | None] | None] = ruling.speaks or [None] * len(ruling.game_over)
    receivers = zip(ruling.game_over, forms, strict=True)
    await asyncio.gather(*(_resend(caller, url, message, form) for (url, message), form in receivers))


async def _resend(caller: Caller, url: str, message: m.GameOver, form: tuple[str, str | None] | None) -> None:
    for _ in range(MAX_RESENDS):
        try:
            if form is None:
                await ask(caller, url, message, m.GameOverAck)
            else:
                from leaguekit.referee.open_player_client import notify_player  # noqa: PLC0415 - only the open profile

                await notify_player(caller, url, message, form, BY_REQUEST[m.GameOver].seconds)
        except (CallFailed, CallerLate, RpcRefusal, ProtocolError) as failure:
            log.debug("a player has not received the end of %s yet: %s", message.match_id, failure)
            await asyncio.sleep(RESEND_SECONDS)
        else:
            return
