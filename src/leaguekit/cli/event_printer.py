"""Prints the events of a running league on the terminal of its manager, one line per event."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection

from leaguekit.agents.tasks import cancel
from leaguekit.league import events as e
from leaguekit.league.sentences import PLAYER, describe_event, name_players_once, registered_id
from leaguekit.league.state import League
from leaguekit.league.ties import first_place
from leaguekit.manager.ledger import Ledger
from leaguekit.protocol import times
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.store.base import StoreError

# The number of players that are named after each round.
MAX_LEADERS = 3
# The number of players who are named at the end because their moves were replaced.
MAX_REPLACED = 10
# The number of names of the seeding that are printed because no player has them.
MAX_UNKNOWN = 10
# Events that are of no interest to a host, or that happen too often.
_NOT_PRINTED = (
    e.LeagueCreated,
    e.RegistrationsClosed,
    e.RefereeCodeSet,
    e.MatchAssigned,
    e.FailuresCounted,
    e.FormLearned,
    e.RulesBroken,
)


class EventPrinter:
    """Prints each event of a ledger once it is written."""

    def __init__(self, ledger: Ledger, print_lines: Callable[[str], None]) -> None:
        self._ledger = ledger
        self._print_lines = print_lines
        self._lines: list[str] = []
        self._task: asyncio.Task[None] | None = None
        # The agents that have registered so far.
        self._known = {*ledger.league.players, *ledger.league.referees}
        ledger.listeners.append(self._react)

    async def close(self) -> None:
        await cancel(self._task)

    def _react(self, event: e.Event) -> None:
        if isinstance(event, _NOT_PRINTED):
            return
        self._lines.append(event_line(event, self._ledger.league, self._known))
        if isinstance(event, e.PlayerRegistered | e.RefereeRegistered):
            self._known.add(registered_id(event))
        if isinstance(event, e.LeagueStarted):
            self._lines += _unknown_seeds(self._ledger.league)
        if isinstance(event, e.LeagueCompleted):
            self._lines += _replaced_moves(self._ledger.league)
        if self._task is None:
            self._task = asyncio.create_task(self._print())

    async def _print(self) -> None:
        # If the log cannot be written, the manager stops. That error is reported elsewhere.
        with contextlib.suppress(StoreError):
            while self._lines:
                lines, self._lines = self._lines, []
                await self._ledger.wait_written()
                self._print_lines("\n".join(lines))
            self._task = None


def event_line(event: e.Event, league: League, known: Collection[str] = ()) -> str:
    """The time and a sentence about an event, with the names of players.

    ``league`` is the league after the event, and ``known`` are the agents that had registered before it.
    """
    text = describe_event(event, known)
    match event:
        case e.RegistrationRefused() if event.address:
            text = f"{text}. It came from {event.address}"
        case e.RoundCompleted() if leaders := _leaders(league):
            text = f"{text}: {leaders}"
        case e.LeagueCompleted():
            text = f"{text}. {champion_sentence(league)}"
    if not isinstance(event, e.PlayerRegistered | e.RegistrationRefused):
        text = add_names(text, league)
    return f"{times.parse_timestamp(event.at).astimezone():%H:%M:%S}  {text}"


def champion_sentence(league: League) -> str:
    """Who is the champion of a league that is over, by id."""
    return first_place(league.table.placed_rows(), is_over=True, by_points=not league.table.ranking)


def add_names(text: str, league: League) -> str:
    """A text in which the name of each player precedes the first mention of its id."""
    named = [league.players[one] for one in PLAYER.findall(text) if one in league.players]
    return name_players_once(text, {player.id: player.meta.display_name for player in named})


def _unknown_seeds(league: League) -> list[str]:
    """A line about the names in the file of the seeding that no player has. They may be misspelt."""
    names = {league.players[player].meta.display_name for player in league.table.rows}
    unknown = [name for name in league.settings.seeds or {} if name not in names]
    more = [f"{len(unknown) - MAX_UNKNOWN} more"] if len(unknown) > MAX_UNKNOWN else []
    shown = ", ".join([*unknown[:MAX_UNKNOWN], *more])
    return [sanitize_line(f"The seeding names players that are not here: {shown}")] if unknown else []


def _replaced_moves(league: League) -> list[str]:
    """A line about each player whose moves were replaced, by its own statement."""
    replaced = [(player, origins) for player, origins in league.move_origins.items() if origins.replaced]
    lines = [f"By its own statement {one.describe_replaced(player)}." for player, one in replaced[:MAX_REPLACED]]
    if (more := len(replaced) - MAX_REPLACED) > 0:
        lines.append(f"Moves of {more} more players were replaced: `league agents --problems` lists them.")
    return [add_names(sanitize_line(line), league) for line in lines]


def _leaders(league: League) -> str:
    """The first players of the table, with their points; empty if the points do not decide."""
    if league.table.ranking:
        return ""
    rows = league.table.placed_rows()
    shown = [f"{row.player_id} {row.points}" for row in rows[:MAX_LEADERS]]
    return ", ".join([*shown, *(["…"] if len(rows) > MAX_LEADERS else [])])
