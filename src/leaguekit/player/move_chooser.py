"""How a player's moves are chosen: the strategy is asked, and the origins of its moves are counted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from msgspec import UNSET, structs

from leaguekit.agents.logs import log_fields
from leaguekit.agents.world import World
from leaguekit.match.move_messages import MoveCall, question_of
from leaguekit.player.context import (
    Context,
    OngoingMatch,
    PastMatch,
    ReplacedMove,
    record_of,
    seconds_for,
)
from leaguekit.player.decisions import Decision, decide, decide_sync, is_built_in
from leaguekit.player.definition import PlayerDefinition
from leaguekit.player.keyed_random import KeyedRandom
from leaguekit.protocol import messages as m
from leaguekit.protocol.messages.matches import MAX_REASON
from leaguekit.protocol.plain_text import remove_addresses
from leaguekit.protocol.tokens import redact

log = logging.getLogger(__name__)

# The number of replaced moves that are remembered.
MAX_REPLACED = 20
_OWN = m.MoveInfo(origin="own")
_NOTHING = m.MoveInfo()


class LeagueFacts(NamedTuple):
    """What a player knows about its league when it is asked for a move."""

    player_id: str
    league_id: str | None
    standings: list[m.Standing]
    history: tuple[PastMatch, ...]


class MoveChooser:
    """Asks the strategy of a player for moves.

    ``seed`` makes the random numbers of the strategy repeatable. ``notify`` is called with a text for the author when a
    move was replaced. A strategy that ``never_blocks`` runs in the event loop that serves the player.
    """

    def __init__(
        self,
        player: PlayerDefinition,
        world: World,
        *,
        seed: int | None,
        notify: Callable[[str], None],
        never_blocks: bool,
    ) -> None:
        # How many moves were the strategy's own, and the first of those that were replaced.
        self.origins = m.MoveOrigins()
        self.replaced: list[ReplacedMove] = []
        self._is_built_in = is_built_in(player.strategy)
        self._player = player
        self._world = world
        self._seed = seed
        self._notify = notify
        self._runs_inline = never_blocks or world.inline
        self._shared_random: KeyedRandom | None = None

    async def choose(self, call: MoveCall, match: OngoingMatch, facts: LeagueFacts) -> tuple[Any, m.MoveInfo]:
        """Ask the strategy for a move. Its time begins now. Returns the move and its origin.

        Built-in strategies do not use the deadline. To compute it would take a fifth of the time of the whole answer.
        """
        if match.forfeit is not None:
            return None, match.forfeit.info
        if self._is_built_in:
            decision = decide_sync(self._player.strategy, self._context(call, match, facts, None))
        else:
            seconds = seconds_for(call)
            ctx = self._context(call, match, facts, self._world.now() + timedelta(seconds=seconds))
            decision = await decide(self._player.strategy, ctx, seconds, inline=self._runs_inline)
        if decision.origin == "own" and decision.info == _NOTHING:
            self.origins.own += 1
            return decision.move, _OWN
        reason = _shorten(decision.reason) or UNSET
        if decision.forfeit is not None:
            match.forfeit = decision.forfeit._replace(
                info=structs.replace(decision.forfeit.info, origin="replaced", reason=reason)
            )
            return None, match.forfeit.info
        info = structs.replace(decision.info, origin=decision.origin, reason=reason)
        self.origins.count(info)
        if decision.origin == "own":
            return decision.move, info
        self._note_not_own(call, decision)
        return decision.move, info

    def _note_not_own(self, call: MoveCall, decision: Decision) -> None:
        """Keep a move that is not the strategy's own. Inform the author, unless the strategy itself says so.

        The same traceback is not shown twice.
        """
        replaced = ReplacedMove(call.match_id, decision.move, decision.fault or decision.reason, decision.error)
        is_new = all(one.trace != replaced.trace for one in self.replaced)
        if decision.origin == "replaced" and len(self.replaced) < MAX_REPLACED:
            self.replaced.append(replaced)
        if decision.fault is None:
            return
        values = (replaced.match_id, replaced.fault, replaced.move)
        error = replaced.error if is_new else None
        log.error("%s: %s; played %r instead.", *values, exc_info=error, extra=log_fields(call))
        self._notify(str(replaced) if is_new else replaced.summary)

    def _context(self, call: MoveCall, match: OngoingMatch, facts: LeagueFacts, deadline: datetime | None) -> Context:
        question, history = question_of(call), facts.history
        known = call.context or None
        record = known.your_standings if known is not None and known.your_standings is not UNSET else record_of(history)
        if record.points is UNSET:
            record.points = 3 * record.wins + record.draws
        if match.random is None:
            match.random = self._random_for(facts.player_id, call.match_id, match.attempt)
        return Context(
            game_type=call.game_type,
            game_args=(call.game_args or {}) if isinstance(call, m.GameMoveCall) else {},
            move_type=question.move_type,
            valid_options=[*question.valid_options],
            total=question.total_options or None,
            syntax=question.syntax or "",
            view=question.context,
            league_id=facts.league_id,
            player_id=facts.player_id,
            match_id=call.match_id,
            round_id=call.round_id or (match.round_id if known is None else known.round_id),
            opponent_id=match.opponent_id if known is None else known.opponent_id,
            role=match.role,
            record=record,
            standings=facts.standings,
            history=history,
            deadline=deadline,
            random=match.random,
            now=self._world.now,
        )

    def _random_for(self, player_id: str, match_id: str, attempt: int) -> KeyedRandom:
        if self._seed is not None:
            return KeyedRandom((self._seed, player_id, match_id, attempt))
        # Matches with a built-in strategy share one generator, which is faster. An author's strategy gets a new one,
        # because it may still use the old one in a thread after the match.
        if self._shared_random is None or not self._is_built_in:
            self._shared_random = KeyedRandom(self._world.entropy(16))
        return self._shared_random


def _shorten(reason: str) -> str:
    """A reason as an answer may carry it: one line of limited length, without tokens and addresses."""
    line: str = remove_addresses(redact(" ".join(reason.split())))
    return line if len(line) <= MAX_REASON else f"{line[: MAX_REASON - 1]}…"
