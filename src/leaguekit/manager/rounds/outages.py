"""Detects outages: most players cannot be connected to. The league then waits until they can be connected to again.

It also checks whether the manager can connect to a player that did not answer a referee.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Sequence

from leaguekit.agents.calls import answers_ping, ping
from leaguekit.league import events as e
from leaguekit.league.outage import OutageDetector
from leaguekit.manager.broadcasts import RecipientLookup
from leaguekit.manager.ledger import Ledger
from leaguekit.transport.addresses import Resolver, addresses_of
from leaguekit.transport.base import Caller, CallerLate, CallerUnable, CallFailed, NoRoute, TimedOut

log = logging.getLogger(__name__)

CHECK_PAUSE_SECONDS = 2.0
PING_SECONDS = 2.0
# The number of players that are pinged first. If most of these do not answer, all others are pinged, too.
SAMPLE_SIZE = 8
OUTAGE_DESCRIPTION = "most players cannot be reached: the network of this machine seems to be down"


class Outages:
    """Checks for outages while matches are in play, and after a message was not delivered.

    ``on_change`` is called when an outage begins or ends.
    """

    def __init__(
        self, caller: Caller, ledger: Ledger, find_recipient: RecipientLookup, on_change: Callable[[], None]
    ) -> None:
        self._caller = caller
        self._ledger = ledger
        self._find_recipient = find_recipient
        self._on_change = on_change
        self._outage = OutageDetector()
        # The index of the first player of the next sample.
        self._sample_start = 0
        self._resolver = Resolver()
        # The address of each player that has answered.
        self._hosts: dict[str, str] = {}
        # Whether a message to a player was not delivered since the last check.
        self._check_requested = False
        # The URLs of the gateways that the operator runs, and those of them that do not answer.
        self.gateways: frozenset[str] = frozenset()
        self._silent_gateways: list[str] = []
        # When all gateways answered again, by the loop's time.
        self._gateways_back_at = -math.inf
        # A sentence about the latest outage.
        self.latest_description = OUTAGE_DESCRIPTION
        # By match in play, when its attempt began, by the loop's time.
        self._attempt_began: dict[str, float] = {}
        # By match, a referee that could not call a player, and a sentence about that.
        self._unable_referees: dict[str, tuple[str, str]] = {}
        ledger.listeners.append(self._react)

    @property
    def is_on(self) -> bool:
        return self._outage.is_on or bool(self._silent_gateways)

    @property
    def problem(self) -> str | None:
        """A sentence about the present problem of the network, or None."""
        outages = [OUTAGE_DESCRIPTION] if self._outage.is_on else []
        if self._silent_gateways:
            outages.append(_describe_silent(self._silent_gateways))
        of_referees = dict.fromkeys(sentence for _, sentence in self._unable_referees.values())
        return "; ".join(outages or of_referees) or None

    def note_unable_referee(self, match_id: str, referee_id: str, sentence: str) -> None:
        """Show in ``problem`` that a referee could not call a player.

        This ends when another referee gets the match, or when the match ends.
        """
        self._unable_referees[match_id] = referee_id, sentence
        self._on_change()

    def request_check(self) -> None:
        """Check for an outage soon, because a message to a player was not delivered."""
        self._check_requested = True

    async def watch(self) -> None:
        """Check while a match takes long, and after a message was not delivered, until the league is over."""
        while True:
            last_check = asyncio.get_running_loop().time()
            await asyncio.sleep(CHECK_PAUSE_SECONDS)
            if self._ledger.league.state == "LEAGUE_COMPLETED":
                return
            is_match_slow = any(began <= last_check for began in self._attempt_began.values())
            if self.is_on or self._check_requested or is_match_slow:
                await self._check()

    async def has_affected(self, match_id: str) -> bool:
        """Whether there has been an outage since the attempt at a match began. This includes a check now."""
        if not self.is_on:
            await self._check()
        # After a restart of the manager it is not known when the attempt began.
        began = self._attempt_began.get(match_id, -math.inf)
        return self.is_on or self._outage.has_occurred_since(began) or began < self._gateways_back_at

    async def find_reachable(self, players: Sequence[str]) -> list[str]:
        """Those of the given players that can be connected to now."""
        answers = await asyncio.gather(*map(self._can_connect, players))
        return [player for player, can_connect in zip(players, answers, strict=True) if can_connect]

    async def find_unreachable(self, players: Sequence[str]) -> list[str]:
        """Those of the given players that cannot be connected to now; none if no player at all can be.

        Call ``has_affected`` first: it checks the other players.
        """
        in_league = self._players()
        if len(self._outage.unreachable(in_league)) == len(in_league):
            return []
        answers = await asyncio.gather(*(self._can_connect(player, unable=None) for player in players))
        return [player for player, can_connect in zip(players, answers, strict=True) if can_connect is False]

    def _react(self, event: e.Event) -> None:
        match event:
            case e.MatchAssigned():
                self._attempt_began[event.match_id] = asyncio.get_running_loop().time()
                if self._unable_referees.get(event.match_id, (event.referee_id,))[0] != event.referee_id:
                    del self._unable_referees[event.match_id]
            case e.AttemptVoided():
                self._attempt_began.pop(event.match_id, None)
            case e.ResultRecorded() | e.MatchForfeited() | e.ResultCorrected():
                self._attempt_began.pop(event.match_id, None)
                self._unable_referees.pop(event.match_id, None)

    async def _check(self) -> None:
        """Ping a sample of the players, and all of them if most of the sample do not answer."""
        self._check_requested = False
        players = self._players()
        start = self._sample_start % max(len(players), 1)
        players = players[start:] + players[:start]
        sample, rest = players[:SAMPLE_SIZE], players[SAMPLE_SIZE:]
        self._sample_start += SAMPLE_SIZE
        await self._ping(sample)
        if rest and (self.is_on or 2 * len(self._outage.unreachable(sample)) > len(sample)):
            await self._ping(rest)
        await self._check_gateways()
        now = asyncio.get_running_loop().time()
        # All players that have never answered count as one host.
        if self._outage.update({player: self._hosts.get(player, "") for player in players}, now):
            if self._outage.is_on:
                self.latest_description = OUTAGE_DESCRIPTION
                log.warning("%s; the league waits until they can be", OUTAGE_DESCRIPTION)
            else:
                log.info("most players can be reached again; the league goes on")
            self._on_change()

    async def _check_gateways(self) -> None:
        """Ping the gateways. If one does not answer, the host is at fault, and not the players behind the gateway."""
        urls = {self._endpoint(player).partition("?")[0] for player in self._players()} & self.gateways
        silent = [url for url in sorted(urls) if not await answers_ping(self._caller, url, PING_SECONDS)]
        if bool(silent) != bool(self._silent_gateways):
            if silent:
                self.latest_description = _describe_silent(silent)
                log.warning("%s; the league waits until it does", self.latest_description)
            else:
                self._gateways_back_at = asyncio.get_running_loop().time()
                log.info("the gateway answers again; the league goes on")
            self._on_change()
        self._silent_gateways = silent

    def _endpoint(self, player_id: str) -> str:
        return self._ledger.league.players[player_id].meta.contact_endpoint

    async def _note_host(self, player_id: str) -> None:
        """Store the address of a player that answers. Addresses are compared, because one host may have many names."""
        addresses = await addresses_of(self._endpoint(player_id), self._resolver)
        if addresses:
            self._hosts[player_id] = min(addresses)

    async def _ping(self, players: Sequence[str]) -> None:
        answers = dict(zip(players, await asyncio.gather(*map(self._can_connect, players)), strict=True))
        now = asyncio.get_running_loop().time()
        for player, can_connect in answers.items():
            if can_connect is not None:
                self._outage.note(player, now, connected=can_connect)
        new = [player for player, can_connect in answers.items() if can_connect and player not in self._hosts]
        await asyncio.gather(*map(self._note_host, new))

    def _players(self) -> list[str]:
        return [one.id for one in self._ledger.league.players.values() if one.out is None]

    async def _can_connect(self, player_id: str, *, unable: bool | None = False) -> bool | None:
        """Whether the manager can connect to a player; None if that is not known.

        ``unable`` is the result if this machine cannot make any call at the moment.
        """
        recipient = self._find_recipient(player_id)
        if recipient is None:
            return None
        try:
            await ping(self._caller, recipient.url, PING_SECONDS)
        except NoRoute:
            return False
        except CallerUnable:
            return unable
        except CallerLate:
            return None
        except CallFailed as failure:
            # The connection was an idle one that was used again. It may be broken by now, so this proves nothing.
            return None if isinstance(failure, TimedOut) and failure.connected else False
        return True


def _describe_silent(gateways: Sequence[str]) -> str:
    return f"the gateway at {', '.join(gateways)} does not answer"
