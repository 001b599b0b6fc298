"""Announces rounds, and waits until their matches may begin."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from leaguekit.agents.tasks import Tasks
from leaguekit.agents.world import World
from leaguekit.manager.broadcasts import Broadcasts
from leaguekit.manager.ledger import Ledger
from leaguekit.manager.rounds.league_messages import round_announcement, round_announcements
from leaguekit.manager.rounds.publishing import SendQueue
from leaguekit.manager.rounds.returning_agents import ReturningAgents

log = logging.getLogger(__name__)

# How long the matches of a round wait for players to answer its announcement.
ANNOUNCEMENT_SECONDS = 10.0
# How often the rest of a lead is computed again.
LEAD_CHECK_SECONDS = 1.0


class Announcements:
    """The announcements of rounds. A referee that begins on one gets it when its matches may begin."""

    def __init__(
        self,
        world: World,
        ledger: Ledger,
        broadcasts: Broadcasts,
        send_queue: SendQueue,
        *,
        returning: ReturningAgents,
        tasks: Tasks,
        is_suspended: Callable[[str], bool],
    ) -> None:
        self._world = world
        self._ledger = ledger
        self._broadcasts = broadcasts
        self._send_queue = send_queue
        self._returning = returning
        self._tasks = tasks
        self._is_suspended = is_suspended
        # By referee, for those that begin on the announcement: the assigned matches that are not announced to it yet.
        self._unannounced: dict[str, list[str]] = {}
        # Done when the last announcement is sent. For each agent, it has a future that says whether the agent answered.
        self._announced: asyncio.Future[dict[str, asyncio.Future[bool]]]

    def announce(self, round_id: int, agents: list[str]) -> None:
        """Announce a round to agents."""
        league = self._ledger.league
        match_ids = league.rounds[round_id - 1].matches
        to_players = round_announcements(league, round_id, match_ids, self._world.now())
        to_referees = round_announcement(league, round_id, match_ids, self._world.now())
        # A referee that begins on the announcement gets it later, when its matches may begin.
        planned = [league.referees[one] for name in match_ids if (one := league.matches[name].planned) is not None]
        later = {referee.id for referee in planned if referee.shows_own_token}

        def send() -> dict[str, asyncio.Future[bool]]:
            log.info("round %d is announced", round_id, extra={"message_type": "ROUND_ANNOUNCEMENT"})
            return {
                one: self._broadcasts.send(one, to_players.get(one, to_referees)) for one in agents if one not in later
            }

        self._announced = self._send_queue.put(send)

    async def wait_until_matches_begin(self) -> None:
        """Wait until all players have answered the announcement or ten seconds have passed. Then wait for the lead.

        The lead (``announce_lead``) is counted from the last answer, because an agent that answers has received the
        announcement. An answer that comes after the ten seconds counts as if it had come at their end.
        """
        league, loop = self._ledger.league, asyncio.get_running_loop()
        futures = await self._announced
        answer_times, latest = [loop.time()], loop.time() + ANNOUNCEMENT_SECONDS

        def note_answer(future: asyncio.Future[bool]) -> None:
            if future.result():
                answer_times.append(min(loop.time(), latest))

        for future in futures.values():
            future.add_done_callback(note_answer)
        present = (one.id for one in league.players.values() if one.out is None and not self._is_suspended(one.id))
        # The operator may have added a player since the announcement.
        if expected := [futures[one] for one in present if one in futures]:
            await asyncio.wait(expected, timeout=ANNOUNCEMENT_SECONDS)
        # A later answer may move the end of the lead, and the operator may change the lead.
        while (left := answer_times[-1] + league.settings.announce_lead - loop.time()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(min(left, LEAD_CHECK_SECONDS))

    def announce_match(self, match_id: str, referee_id: str) -> None:
        """Announce an assigned match to its referee, which begins on the announcement."""
        if referee_id in self._unannounced:
            self._unannounced[referee_id].append(match_id)
        else:
            self._unannounced[referee_id] = [match_id]
            self._tasks.start(self._announce_to_referee(referee_id))

    async def _announce_to_referee(self, referee_id: str) -> None:
        """Announce its assigned matches to a referee that begins on the announcement.

        If these are the matches that were planned for it, it gets the announcement of the whole round. Otherwise it
        gets only these matches, because it may have played others of the round already. In that case the players are
        informed first: they do not know yet that this referee shows them its own token.
        """
        league = self._ledger.league
        assigned = [league.matches[name] for name in self._unannounced.pop(referee_id)]
        await self._returning.wait_for(referee_id, *(player for match in assigned for player in match.players))
        await self._ledger.wait_written()
        for round_id in sorted({match.round_id for match in assigned}):
            matches = [match for match in assigned if match.round_id == round_id]
            match_ids, whole_round = [match.id for match in matches], league.rounds[round_id - 1].matches
            planned = [name for name in whole_round if league.matches[name].planned == referee_id]
            if match_ids == planned and all(match.attempt == 1 for match in matches):
                match_ids = whole_round
            else:
                to_players = round_announcements(league, round_id, match_ids, self._world.now())
                players = [player for match in matches for player in match.players]
                expected = [self._broadcasts.send(player, to_players[player]) for player in players]
                await asyncio.wait(expected, timeout=ANNOUNCEMENT_SECONDS)
            self._broadcasts.send(referee_id, round_announcement(league, round_id, match_ids, self._world.now()))
