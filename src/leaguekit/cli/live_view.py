"""A league in progress as a picture for the terminal: the table, what is in play, the latest results, and news."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from leaguekit.cli.screen import Cell, right
from leaguekit.cli.tables import counted, kept_in_place
from leaguekit.league.sentences import with_names
from leaguekit.league.ties import score_text
from leaguekit.protocol import times
from leaguekit.web.api_types import InPlay, LeagueView, Live, MatchLine, News, StandingRow, Who

# From so many columns on there is room for two halves beside each other.
TWO_HALVES = 100
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


def picture(live: Live, now: datetime, size: tuple[int, int], page: str, notes: list[str]) -> Lines:
    """All that fits into so many columns and lines.

    ``now`` is by the manager's clock, ``page`` where a browser shows more, and ``notes`` what else there is to know.
    """
    columns, lines = size
    head = [*_head(live.league, now, columns, page), []]
    foot: Lines = [[Cell(0, note, "warning")] for note in notes[-3:]]
    room = max(0, lines - len(head) - len(foot))
    body = _beside(live, now, columns, room) if columns >= TWO_HALVES else _below(live, now, columns, room)
    body = body[:room]
    return [*head, *body, *([[]] * (room - len(body)) if foot else []), *foot][:lines]


def _head(league: LeagueView, now: datetime, columns: int, page: str) -> Lines:
    played, total = league.matches_played, league.total_matches
    state = "paused" if league.paused else _STATES[league.state]
    said = [state, league.game_type]
    if league.total_rounds:
        said.append(f"round {league.round} of {league.total_rounds}")
    said += [counted(league.players, "player"), counted(league.referees, "referee")]
    title = [Cell(0, league.league_id, "bold")]
    if len(league.league_id) + len(page) + 2 <= columns:
        title.append(right(columns, page, "dim"))
    lines: Lines = [title, [Cell(0, " · ".join(said))]]
    if total:
        progress = f"{played:,} of {total:,} matches"
        room = max(0, min(60, columns - len(progress) - 1))
        done = room * played // total
        lines.append([Cell(0, "█" * done + "░" * (room - done), "lively"), Cell(room + 1, progress)])
    if league.starts_at is not None and not league.paused and (seconds := _seconds_to(league.starts_at, now)) > 0:
        lines.append([Cell(0, f"begins in {_clock(seconds)}", "lively")])
    lines += [[Cell(0, f"waits for {reason}", "warning")] for reason in league.waits_for]
    return lines


def _beside(live: Live, now: datetime, columns: int, room: int) -> Lines:
    middle = columns // 2
    left = _standings(live, 0, middle - 2, room)
    others = _others(live, now, middle + 1, columns, room)
    return [
        [*(left[number] if number < len(left) else []), *(others[number] if number < len(others) else [])]
        for number in range(max(len(left), len(others)))
    ]


def _below(live: Live, now: datetime, columns: int, room: int) -> Lines:
    others = _others(live, now, 0, columns, max(room // 2, room - len(live.standings) - 2))
    return [*_standings(live, 0, columns, max(3, room - len(others) - 1)), [], *others]


def _standings(live: Live, start: int, end: int, room: int) -> Lines:
    """The table, as many rows as fit."""
    rows = sorted(live.standings.values(), key=lambda row: row.rank)
    columns = _columns(rows, end - start)
    # Where each column ends, from the left.
    ends = [end - sum(wide for _, wide, _ in columns[place + 1 :]) for place in range(len(columns))]
    lines = [
        [
            right(start + 4, "#", "dim"),
            Cell(start + 9, "player", "dim"),
            *(right(at, head, "dim") for at, (head, _, _) in zip(ends, columns, strict=True)),
        ]
    ]
    shown = rows[: max(0, room - 1)]
    if len(shown) < len(rows):
        shown = shown[:-1]
    for row in shown:
        numbers = [
            right(at, value(row), "bold" if at == end else "") for at, (_, _, value) in zip(ends, columns, strict=True)
        ]
        rank = row.shown_rank or row.rank
        lines.append([right(start + 4, rank), *_moved(row, start + 5), _named(row, start + 9), *numbers])
    if len(shown) < len(rows):
        lines.append([Cell(start + 9, f"and {len(rows) - len(shown)} more", "dim")])
    elif len(lines) < room and any(row.shown_rank.endswith("=") and row.played for row in shown):
        lines.append([Cell(start + 2, "= equal, and only the lot or the id decides", "dim")])
    return lines


# A column: its head, its width, and what it shows of a row.
_Column = tuple[str, int, Callable[[StandingRow], object]]


def _columns(rows: list[StandingRow], room: int) -> list[_Column]:
    """The columns that fit, the tie-breaks that were needed first."""
    ties: list[_Column] = []
    if any(row.played for row in rows):
        if any(row.head_to_head is not None for row in rows):
            ties.append(("h2h", 5, lambda row: "" if row.head_to_head is None else row.head_to_head))
        if any(row.sonneborn_berger is not None for row in rows):
            ties.append(("SB", 6, lambda row: score_text(row.sonneborn_berger)))
        if any(row.decided_by == "technical_losses" for row in rows):
            ties.append(("tech.", 6, lambda row: row.technical_losses))
    room -= sum(wide for _, wide, _ in ties)
    won: _Column = ("won", 4, lambda row: row.wins)
    if room < 46:
        return [won, *ties, ("pts", 5, lambda row: row.points)]
    return [
        ("pl.", 4, lambda row: row.played),
        won,
        ("dr.", 4, lambda row: row.draws),
        ("lost", 5, lambda row: row.losses),
        *ties,
        ("points", 7, lambda row: row.points),
    ]


def _moved(row: StandingRow, at: int) -> Iterator[Cell]:
    if row.movement:
        yield Cell(at, f"{'▲' if row.movement > 0 else '▼'}{abs(row.movement)}", "good" if row.movement > 0 else "bad")


def _named(row: StandingRow, at: int) -> Cell:
    left = {"WITHDRAWAL": " (withdrew)", "DISQUALIFICATION": " (disqualified)"}.get(row.out or "", "")
    return Cell(at, f"{row.id}  {row.name}{left}", "dim" if row.out or row.state == "SUSPENDED" else "")


def _others(live: Live, now: datetime, start: int, end: int, room: int) -> Lines:
    """What is in play, the latest results, and news, each with its share of the room."""
    share = max(2, room // 3)
    playing: Lines = [_playing(one, now, start, end) for one in live.playing.values()]
    results = sorted(live.results.values(), key=lambda one: one.ended_at or "", reverse=True)
    told = (one for one in live.news.values() if one.event != "ResultRecorded")
    news = sorted(told, key=lambda one: one.number, reverse=True)
    parts = {
        "In play": _cut(playing, share, start),
        "Latest results": [[Cell(start, one.match_id), Cell(start + 7, _told(one))] for one in results],
        "News": [[Cell(start, news_text(one, live))] for one in news],
    }
    lines: Lines = []
    for title, rows in parts.items():
        left = room - len(lines)
        # What comes after it gets its share as well.
        most = left - 1 if title == "News" else min(left - 1, share)
        if rows and most > 0:
            lines += [[Cell(start, title, "dim")], *rows[:most], []]
    return lines[:room]


def news_text(one: News, live: Live) -> str:
    """News with the players' names, as far as they are in the table that is shown."""
    if one.event == "PlayerRegistered":
        # It says both already.
        return one.text
    return with_names(one.text, {row.id: row.name for row in live.standings.values()})


def _cut(rows: Lines, most: int, start: int) -> Lines:
    if len(rows) <= most:
        return rows
    return [*rows[: most - 1], [Cell(start, f"and {len(rows) - most + 1} more", "dim")]]


def _playing(one: InPlay, now: datetime, start: int, end: int) -> list[Cell]:
    stage = _STAGES.get(one.stage or "", "in play")
    seconds = "" if one.deadline is None else f"{max(0, round(_seconds_to(one.deadline, now)))} s"
    return [
        Cell(start, one.match_id, "lively"),
        Cell(start + 7, f"{_name(one.a)} – {_name(one.b)}"),
        Cell(end - 15, stage, "lively"),
        right(end, seconds, "dim"),
    ]


def _told(match: MatchLine) -> str:
    if match.winner is None:
        return f"{_name(match.a)} – {_name(match.b)}, no winner: {match.reason}"
    won, lost = (match.a, match.b) if match.winner == match.a.id else (match.b, match.a)
    return f"{_name(won)} beats {_name(lost)}: {match.reason}"


def _name(who: Who) -> str:
    return kept_in_place(who.name)


def _seconds_to(moment: str, now: datetime) -> float:
    return (times.read(moment) - now).total_seconds()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{rest:02d}"
    return f"{minutes}:{rest:02d}" if minutes else f"{rest} s"
