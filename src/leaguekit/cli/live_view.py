"""Renders a league in progress for the terminal: the table, the matches in play, the latest results, and news."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import zip_longest

from msgspec import UNSET

from leaguekit.cli.boards import draw_boards
from leaguekit.cli.screen import Cell, right_aligned
from leaguekit.cli.tables import DEPARTURES, pluralize, width, with_ltr_mark
from leaguekit.league.pairings import tally
from leaguekit.league.sentences import PLAYER, add_player_names
from leaguekit.league.ties import payoff_text, score_text
from leaguekit.protocol import times
from leaguekit.web.api_types import AgentName, InPlay, LeagueView, Live, MatchRow, NewsItem, Pairing, StandingRow

# A terminal with at least this number of columns shows two columns beside each other.
MIN_TWO_COLUMN_WIDTH = 100
# With less room, the boards would take the place of everything else.
MIN_LINES_WITH_BOARDS = 12
_STATES = {
    "WAITING_FOR_REGISTRATIONS": "waiting for registrations",
    "CREATING_SCHEDULE": "making the schedule",
    "RUNNING_LEAGUE": "running",
    "LEAGUE_COMPLETED": "over",
}
_STAGES = {
    "WAITING_FOR_PLAYERS": "invited",
    "COLLECTING_CHOICES": "choosing",
    "DRAWING_NUMBER": "drawing",
    "FINISHED": "reporting",
}
Lines = list[list[Cell]]


def render_league(live: Live, now: datetime, size: tuple[int, int], page: str, notes: list[str]) -> Lines:
    """Render what fits into ``size``, which is columns and lines.

    ``now`` is the time of the manager's clock, ``page`` the URL of the dashboard, and ``notes`` are warnings.
    """
    columns, lines = size
    names = {row.id: row.name for row in live.standings.values()}
    head = [*_head(live.league, names, now, columns, page), []]
    foot: Lines = [[Cell(0, note, "warning")] for note in notes[-3:]]
    available = max(0, lines - len(head) - len(foot))
    layout = _two_columns if columns >= MIN_TWO_COLUMN_WIDTH else _one_column
    body = layout(live, now, columns, available)[:available]
    return [*head, *body, *([[]] * (available - len(body)) if foot else []), *foot][:lines]


def _head(league: LeagueView, names: dict[str, str], now: datetime, columns: int, page: str) -> Lines:
    played, total = league.matches_played, league.total_matches
    state = "paused" if league.paused else _STATES[league.state]
    facts = [state, league.game or league.game_type]
    if league.view == "bracket" and league.round_label:
        # The number of games in a bracket is not known before its end.
        facts += [] if league.state == "LEAGUE_COMPLETED" else [league.round_label]
    elif league.total_rounds:
        facts.append(f"round {league.round} of {league.total_rounds}")
    facts += [pluralize(league.players, "player"), pluralize(league.referees, "referee")]
    # A manager of an older release does not send a title.
    name = league.title or league.league_id
    title = [Cell(0, name, "bold")]
    if width(name) + len(page) + 2 <= columns:
        title.append(right_aligned(columns, page, "dim"))
    lines: Lines = [title, [Cell(0, " · ".join(facts))]]
    if league.advancement:
        lines.append([Cell(0, add_player_names(league.advancement, names), "dim")])
    if league.ranked_by:
        lines.append([Cell(0, league.ranked_by, "dim")])
    if total:
        progress = f"{played:,} of {total:,} matches{', and more rounds follow' if league.draws_more else ''}"
        available = max(0, min(60, columns - len(progress) - 1))
        done = available * played // total
        lines.append([Cell(0, "█" * done + "░" * (available - done), "lively"), Cell(available + 1, progress)])
    if league.starts_at is not None and not league.paused and (seconds := _seconds_to(league.starts_at, now)) > 0:
        lines.append([Cell(0, f"begins in {_format_countdown(seconds)}", "lively")])
    lines += [[Cell(0, f"waits for {reason}", "warning")] for reason in league.waits_for]
    return lines


def _two_columns(live: Live, now: datetime, columns: int, available: int) -> Lines:
    middle = columns // 2
    left = _standings(live, 0, middle - 2, available)
    others = _activity(live, now, middle + 1, columns, available)
    return [[*a, *b] for a, b in zip_longest(left, others, fillvalue=())]


def _one_column(live: Live, now: datetime, columns: int, available: int) -> Lines:
    others = _activity(live, now, 0, columns, max(available // 2, available - len(live.standings) - 2))
    return [*_standings(live, 0, columns, max(3, available - len(others) - 1)), [], *others]


def _standings(live: Live, start: int, end: int, available: int) -> Lines:
    """The table, with as many rows as fit."""
    rows = sorted(live.standings.values(), key=lambda row: row.rank)
    columns = _columns(rows, live.league.tie_breaks, end - start)
    # The column of the screen at which each column of the table ends.
    ends = [end - sum(wide for _, wide, _ in columns[index + 1 :]) for index in range(len(columns))]
    lines = [
        [
            right_aligned(start + 4, "#", "dim"),
            Cell(start + 9, "player", "dim"),
            *(right_aligned(at, head, "dim") for at, (head, _, _) in zip(ends, columns, strict=True)),
        ]
    ]
    visible = rows[: max(0, available - 1)]
    if len(visible) < len(rows):
        visible = visible[:-1]
    for row in visible:
        numbers = [
            right_aligned(at, value(row), "bold" if at == end else "")
            for at, (_, _, value) in zip(ends, columns, strict=True)
        ]
        rank = row.shown_rank or row.rank
        lines.append(
            [right_aligned(start + 4, rank), *_movement_cells(row, start + 5), _player_cell(row, start + 9), *numbers]
        )
    if len(visible) < len(rows):
        lines.append([Cell(start + 9, f"and {len(rows) - len(visible)} more", "dim")])
    elif len(lines) < available and any(row.shown_rank.endswith("=") and row.played for row in visible):
        lines.append([Cell(start + 2, "= equal, and only the lot or the id decides", "dim")])
    if len(lines) < available and live.league.order:
        lines.append([Cell(start + 2, f"by {live.league.order}", "dim")])
    return lines


# A column of the table: its head, its width, and its value in a row.
_Column = tuple[str, int, Callable[[StandingRow], object]]


# The columns of tie-breaks.
_TIE_COLUMNS: dict[str, _Column] = {
    "buchholz": ("BH", 5, lambda row: "" if row.buchholz is None else row.buchholz),
    "head_to_head": ("h2h", 5, lambda row: "" if row.head_to_head is None else row.head_to_head),
    "sonneborn_berger": ("SB", 6, lambda row: score_text(row.sonneborn_berger)),
}


def _columns(rows: list[StandingRow], tie_breaks: list[str], available: int) -> list[_Column]:
    """The columns that fit. The tie-breaks that were needed come first, in the order of the league."""
    ties: list[_Column] = []
    if any(row.played for row in rows):
        # A manager of an older release does not send the order.
        needed = [one for one in tie_breaks or list(_TIE_COLUMNS) if one in _TIE_COLUMNS]
        ties += [_TIE_COLUMNS[one] for one in needed if any(getattr(row, one) is not None for row in rows)]
        if any(row.decided_by == "technical_losses" for row in rows):
            ties.append(("tech.", 6, lambda row: row.technical_losses))
    payoff: list[_Column] = []
    if any(row.payoff is not UNSET for row in rows):
        payoff = [("payoff", 8, lambda row: payoff_text(row.payoff))]
    available -= sum(wide for _, wide, _ in [*ties, *payoff])
    won: _Column = ("won", 4, lambda row: row.wins)
    if available < 46:
        return [won, *ties, ("pts", 5, lambda row: row.points), *payoff]
    return [
        ("pl.", 4, lambda row: row.played),
        won,
        ("dr.", 4, lambda row: row.draws),
        ("lost", 5, lambda row: row.losses),
        *ties,
        ("points", 7, lambda row: row.points),
        *payoff,
    ]


def _movement_cells(row: StandingRow, at: int) -> Iterator[Cell]:
    if row.movement:
        yield Cell(at, f"{'▲' if row.movement > 0 else '▼'}{abs(row.movement)}", "good" if row.movement > 0 else "bad")


def _player_cell(row: StandingRow, at: int) -> Cell:
    left = f" ({DEPARTURES[row.out]})" if row.out in DEPARTURES else ""
    return Cell(at, f"{row.id}  {row.name}{left}", "dim" if row.out or row.state == "SUSPENDED" else "")


def _activity(live: Live, now: datetime, start: int, end: int, available: int) -> Lines:
    """The matches in play, the latest results, and news. Each gets its share of the lines."""
    share = max(2, available // 3)
    boards = draw_boards(live, start, end, available) if available >= MIN_LINES_WITH_BOARDS else []
    playing: Lines = [_match_cells(one, now, start, end) for one in live.playing.values()]
    results = sorted(live.results.values(), key=lambda one: one.ended_at or "", reverse=True)
    other_news = (one for one in live.news.values() if one.event != "ResultRecorded")
    news = sorted(other_news, key=lambda one: one.number, reverse=True)
    parts = {
        "Boards": boards,
        **_pairings(live, start, share),
        "In play": _limit_rows(playing, share, start),
        "Latest results": [[Cell(start, one.match_id), Cell(start + 7, result_text(one))] for one in results],
        **_decided_stages(live, start, share),
        "News": [[Cell(start, news_text(one, live))] for one in news],
    }
    lines: Lines = []
    for title, rows in parts.items():
        left = available - len(lines)
        # The parts after this one get their share as well.
        max_rows = left - 1 if title in ("Boards", "News") else min(left - 1, share)
        if rows and max_rows > 0:
            lines += [[Cell(start, title, "dim")], *rows[:max_rows], []]
    return lines[:available]


def _pairings(live: Live, start: int, max_rows: int) -> dict[str, Lines]:
    """The stages of a bracket that are not decided, or its last; the challengers; or the round drawn last.

    Each is by its label.
    """
    stages = _stages(live)
    if live.league.view == "challengers":
        return {_challenger_head(found): _opponents(found, start, max_rows) for found in stages}
    *earlier, last = stages or [[]]
    is_bracket = live.league.view == "bracket"
    shown = [stage for stage in earlier if not (is_bracket and _is_decided(stage))]
    return _stage_lines([*shown, last], start, max_rows)


def _decided_stages(live: Live, start: int, max_rows: int) -> dict[str, Lines]:
    """The stages of a bracket that are decided, without its last. The latest is the first."""
    if live.league.view != "bracket":
        return {}
    return _stage_lines([one for one in reversed(_stages(live)[:-1]) if _is_decided(one)], start, max_rows)


def _stages(live: Live) -> list[list[Pairing]]:
    stages: dict[int, list[Pairing]] = {}
    for one in live.pairings.values():
        stages.setdefault(one.stage, []).append(one)
    return [pairings for _, pairings in sorted(stages.items())]


def _is_decided(stage: list[Pairing]) -> bool:
    return all(one.winner is not None for one in stage)


def _stage_lines(stages: list[list[Pairing]], start: int, max_rows: int) -> dict[str, Lines]:
    """The pairings of each stage whose players are known in part, by its label."""
    shown: dict[str, Lines] = {}
    for stage in stages:
        known = [one for one in stage if one.a is not None or one.b is not None]
        if known:
            shown[known[0].label] = _limit_rows([[Cell(start, pairing_text(one))] for one in known], max_rows, start)
    return shown


def bracket_lines(live: Live) -> list[str]:
    """All stages of a bracket as lines; none if the league has no bracket."""
    if live.league.view != "bracket":
        return []
    return [
        text for stage in _stages(live) for text in (stage[0].label, *(f"  {pairing_text(one)}" for one in stage), "")
    ]


def _challenger_head(pairings: list[Pairing]) -> str:
    """A challenger, and how many matches it has won, drawn and lost."""
    challenger, marks = pairings[0].a, [game.marks[0] for one in pairings for game in one.games if game.marks]
    names = {} if challenger is None else {challenger.id: challenger.name}
    return f"{add_player_names(pairings[0].label, names)}: {tally(marks)}"


def _opponents(pairings: list[Pairing], start: int, max_rows: int) -> Lines:
    """The opponents of a challenger, each with what the challenger made of the matches. Those to come are the last."""
    rows: Lines = []
    for one in sorted(pairings, key=lambda one: not one.games or one.games[0].marks is None):
        marks = "".join("·" if game.marks is None else game.marks[0].replace("-", "−") for game in one.games)
        rows.append([Cell(start, marks, "bold"), Cell(start + 4, "" if one.b is None else _name(one.b))])
    return _limit_rows(rows, max_rows, start)


def pairing_text(one: Pairing) -> str:
    """A pairing with the points before the round, the games, and who advances."""
    a, b = (
        "…" if agent is None else _name(agent) + ("" if one.points is None else f" ({points})")
        for agent, points in zip((one.a, one.b), one.points or (0, 0), strict=True)
    )
    if one.alone is not None:
        return f"{a}: {'a bye' if one.alone == 'bye' else 'no match'}"
    marks = [game.marks for game in one.games if game.marks is not None]
    games = "–" if not marks else " : ".join("".join(side).replace("-", "−") for side in zip(*marks, strict=True))
    text = f"{one.title + ': ' if one.title else ''}{a}  {games}  {b}"
    winner = next((agent for agent in (one.a, one.b) if agent is not None and agent.id == one.winner), None)
    if winner is None or one.points is not None:
        return text
    return f"{text}  → {_name(winner)}{' by lot' if one.by_lot else ''}"


def news_text(one: NewsItem, live: Live) -> str:
    """The text of a news item, with the names of the players that are in the table."""
    if one.event == "PlayerRegistered":
        # The text has id and name already.
        return one.text
    return add_player_names(one.text, {row.id: row.name for row in live.standings.values()})


def _limit_rows(rows: Lines, max_rows: int, start: int) -> Lines:
    if len(rows) <= max_rows:
        return rows
    return [*rows[: max_rows - 1], [Cell(start, f"and {len(rows) - max_rows + 1} more", "dim")]]


def _match_cells(one: InPlay, now: datetime, start: int, end: int) -> list[Cell]:
    stage = _STAGES.get(one.stage or "", "in play")
    if (one.try_number or 1) > 1:
        stage = f"try {one.try_number} of {one.max_tries}"
    seconds = "" if one.deadline is None else f"{max(0, round(_seconds_to(one.deadline, now)))} s"
    return [
        Cell(start, one.match_id, "lively"),
        Cell(start + 7, f"{_name(one.a)} – {_name(one.b)}"),
        Cell(end - 15, stage, "lively"),
        right_aligned(end, seconds, "dim"),
    ]


def result_text(match: MatchRow) -> str:
    """The result of a match, with its reason."""
    names = {agent.id: _name(agent) for agent in (match.a, match.b)}
    reason = PLAYER.sub(lambda found: names.get(found[0], found[0]), match.reason or "")
    if match.winner is None:
        return f"{_name(match.a)} – {_name(match.b)}, no winner: {reason}"
    won, lost = (match.a, match.b) if match.winner == match.a.id else (match.b, match.a)
    return f"{_name(won)} beats {_name(lost)}: {reason}"


def _name(agent: AgentName) -> str:
    return with_ltr_mark(agent.name)


def _seconds_to(moment: str, now: datetime) -> float:
    return (times.parse_timestamp(moment) - now).total_seconds()


def _format_countdown(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{rest:02d}"
    return f"{minutes}:{rest:02d}" if minutes else f"{rest} s"
