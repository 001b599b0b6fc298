"""Outages: the manager finds that most players cannot be connected to, and waits until they can be again.

It also looks whether a player can be connected to that a referee had no answer from.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Sequence

from leaguekit.agents.calls import reachable
from leaguekit.league import events as e
from leaguekit.league.outage import OutageDetector
from leaguekit.manager.broadcasts import RecipientLookup
from leaguekit.manager.ledger import Ledger
from leaguekit.transport.addresses import Resolver, addresses_of
from leaguekit.transport.base import Caller, CallerLate, CallerUnable, CallFailed, NoRoute, TimedOut

log = logging.getLogger(__name__)

LOOK_EVERY = 2.0
LOOK_SECONDS = 2.0
# The number of players that are called first. All are called if most of these are gone.
SAMPLE_SIZE = 8
OUTAGE_DESCRIPTION = "most players cannot be reached: the network of this machine seems to be down"


class Outages:
    """Looks for outages while matches are in play or a message was not delivered.

    ``changed`` is called when an outage begins or ends.
    """

    def __init__(self, caller: Caller, ledger: Ledger, recipient: RecipientLookup, changed: Callable[[], None]) -> None:
        self._caller = caller
        self._ledger = ledger
        self._recipient = recipient
        self._changed = changed
        self._outage = OutageDetector()
        self._turn = 0
        self._resolver = Resolver()
        # The address of each player that has answered.
        self._hosts: dict[str, str] = {}
        # Whether a message to a player was not delivered since the last look.
        self._suspected = False
        # The host's own gateways, if they are known, those of them that do not answer, and when the last was back.
        self.gateways: frozenset[str] = frozenset()
        self._silent_gateways: list[str] = []
        self._gateway_back = -math.inf
        # The latest outage in words.
        self.latest = OUTAGE_DESCRIPTION
        # Since when matches are in play, by the loop's time.
        self._since: dict[str, float] = {}
        # Of matches, the referee that could not call a player, and that in words.
        self._unable: dict[str, tuple[str, str]] = {}
        ledger.listeners.append(self._react)

    @property
    def is_on(self) -> bool:
        return self._outage.is_on or bool(self._silent_gateways)

    @property
    def trouble(self) -> str | None:
        """What is wrong with the network, in words; None if nothing is."""
        now = [OUTAGE_DESCRIPTION] if self._outage.is_on else []
        if self._silent_gateways:
            now.append(_silent(self._silent_gateways))
        return "; ".join(now) or "; ".join(dict.fromkeys(said for _, said in self._unable.values())) or None

    def note_unable(self, match_id: str, referee_id: str, sentence: str) -> None:
        """A referee could not call a player: say so until another has the match, or it has ended."""
        self._unable[match_id] = referee_id, sentence
        self._changed()

    def suspect(self) -> None:
        """Look soon: a message to a player was not delivered."""
        self._suspected = True

    async def watch(self) -> None:
        """Look while a match takes long, and after a message was not delivered, until the league is over."""
        while True:
            latest = asyncio.get_running_loop().time()
            await asyncio.sleep(LOOK_EVERY)
            if self._ledger.league.state == "LEAGUE_COMPLETED":
                return
            if self.is_on or self._suspected or any(since <= latest for since in self._since.values()):
                await self._look()

    async def touched(self, match_id: str) -> bool:
        """Whether there has been an outage since the attempt at a match began, as can be seen now."""
        if not self.is_on:
            await self._look()
        # After a restart it is not known when that was.
        began = self._since.get(match_id, -math.inf)
        return self.is_on or self._outage.has_occurred_since(began) or began < self._gateway_back

    async def reached(self, players: Sequence[str]) -> list[str]:
        """Those of some players that answer now."""
        there = await asyncio.gather(*map(self._is_there, players))
        return [player for player, is_there in zip(players, there, strict=True) if is_there]

    async def gone(self, players: Sequence[str]) -> list[str]:
        """Those of some players that cannot be connected to now, if others can be; ``touched`` has looked."""
        league = self._players()
        if len(self._outage.unreachable(league)) == len(league):
            return []
        there = await asyncio.gather(*(self._is_there(player, unable=None) for player in players))
        return [player for player, is_there in zip(players, there, strict=True) if is_there is False]

    def _react(self, event: e.Event) -> None:
        match event:
            case e.MatchAssigned():
                self._since[event.match_id] = asyncio.get_running_loop().time()
                if self._unable.get(event.match_id, (event.referee_id,))[0] != event.referee_id:
                    del self._unable[event.match_id]
            case e.AttemptVoided():
                self._since.pop(event.match_id, None)
            case e.ResultRecorded() | e.MatchForfeited() | e.ResultCorrected():
                self._since.pop(event.match_id, None)
                self._unable.pop(event.match_id, None)

    async def _look(self) -> None:
        self._suspected = False
        players = self._players()
        turn = self._turn % max(len(players), 1)
        players = players[turn:] + players[:turn]
        first, rest = players[:SAMPLE_SIZE], players[SAMPLE_SIZE:]
        self._turn += SAMPLE_SIZE
        await self._call(first)
        if rest and (self.is_on or 2 * len(self._outage.unreachable(first)) > len(first)):
            await self._call(rest)
        await self._look_at_gateways()
        now = asyncio.get_running_loop().time()
        # Those that have never answered count as one host.
        if self._outage.update({player: self._hosts.get(player, "") for player in players}, now):
            if self._outage.is_on:
                self.latest = OUTAGE_DESCRIPTION
                log.warning("%s; the league waits until they can be", OUTAGE_DESCRIPTION)
            else:
                log.info("most players can be reached again; the league goes on")
            self._changed()

    async def _look_at_gateways(self) -> None:
        """A gateway that does not answer is the host's fault, and not that of the players behind it."""
        urls = {self._endpoint(player).partition("?")[0] for player in self._players()} & self.gateways
        silent = [url for url in sorted(urls) if not await self._answers(url)]
        if bool(silent) != bool(self._silent_gateways):
            if silent:
                self.latest = _silent(silent)
                log.warning("%s; the league waits until it does", self.latest)
            else:
                self._gateway_back = asyncio.get_running_loop().time()
                log.info("the gateway answers again; the league goes on")
            self._changed()
        self._silent_gateways = silent

    async def _answers(self, url: str) -> bool:
        try:
            await reachable(self._caller, url, LOOK_SECONDS)
        except CallerLate:
            return True
        except CallFailed:
            return False
        return True

    def _endpoint(self, player_id: str) -> str:
        return self._ledger.league.players[player_id].meta.contact_endpoint

    async def _note_host(self, player_id: str) -> None:
        """Note at which address a player that answers is: one host may have many names."""
        addresses = await addresses_of(self._endpoint(player_id), self._resolver)
        if addresses:
            self._hosts[player_id] = min(addresses)

    async def _call(self, players: Sequence[str]) -> None:
        there = await asyncio.gather(*map(self._is_there, players))
        now = asyncio.get_running_loop().time()
        for player, is_there in zip(players, there, strict=True):
            if is_there is not None:
                self._outage.note(player, now, connected=is_there)
        unknown = [player for player, is_there in zip(players, there, strict=True) if is_there]
        await asyncio.gather(*(self._note_host(player) for player in unknown if player not in self._hosts))

    def _players(self) -> list[str]:
        return [one.id for one in self._ledger.league.players.values() if one.out is None]

    async def _is_there(self, player_id: str, *, unable: bool | None = False) -> bool | None:
        """Whether a player can be connected to; None if that cannot be told.

        ``unable`` is the answer if this machine lacks something that it needs for any call.
        """
        recipient = self._recipient(player_id)
        if recipient is None:
            return None
        try:
            await reachable(self._caller, recipient.url, LOOK_SECONDS)
        except NoRoute:
            return False
        except CallerUnable:
            return unable
        except CallerLate:
            return None
        except CallFailed as failure:
            # A connection that was kept may lead nowhere by now.
            return None if isinstance(failure, TimedOut) and failure.connected else False
        return True


def _silent(gateways: Sequence[str]) -> str:
    return f"the gateway at {', '.join(gateways)} does not answer"
