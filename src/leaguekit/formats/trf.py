"""The tournament report file (TRF) of FIDE: the input of pairing engines, and of programs that check pairings.

A file has one line per player, with the result of each round. The lines ``XX…`` are those of other Swiss programs: the
number of rounds, the points, the first side, and the players that are absent in the next round. bbpPairings reads the
points from lines of its own, ``BB…``, and refuses a file in which the points of players are others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from leaguekit.formats.base import DRAW, LOSS, WIN, Bye, FormatError, GameResult, PastRound, Scoring, Tournament

FIDE_SCORING = Scoring(win=10, draw=5, bye=10)
_BYES: dict[Bye, str] = {"bye": "U", "full_point": "F", "half_point": "H", "absent": "Z"}
_PLAYED = {WIN: "1", DRAW: "=", LOSS: "0"}
_FORFEITED = {WIN: "+", LOSS: "-"}
# A bye by its sign; some programs write one as a win, a draw or a loss without an opponent.
_BYE_SIGNS: dict[str, Bye] = {sign: bye for bye, sign in _BYES.items()} | {"+": "bye", "=": "half_point", "-": "absent"}
# Lines that change pairings in a way that a league does not know: accelerated points, and pairs that may not meet.
_UNSUPPORTED = ("XXA", "XXP", "250", "260")
_POINTS = {"1": WIN, "W": WIN, "+": WIN, "=": DRAW, "D": DRAW, "0": LOSS, "L": LOSS, "-": LOSS}
# The columns of a player's line.
_NUMBER, _NAME, _RATING, _POINTS_AT, _RANK = slice(4, 8), slice(14, 47), slice(48, 52), slice(80, 84), slice(85, 89)
_RESULTS = 91
_RESULT_WIDTH = 10
MAX_NAME = 33
MAX_PLAYERS = 9_999


class PlayerInfo(NamedTuple):
    """What a file says about a player beside its results."""

    name: str = ""
    rating: int | None = None
    rank: int | None = None


def write(
    tournament: Tournament,
    rounds: int,
    *,
    a_first: bool,
    title: str = "",
    players: Mapping[str, PlayerInfo] | None = None,
) -> str:
    """A tournament as a file. ``a_first`` says whether the first player of the seeding has side A (white) first."""
    if len(tournament.entrants) > MAX_PLAYERS:
        raise FormatError(f"a tournament report file has at most {MAX_PLAYERS:,} players")
    numbers = {player: number for number, player in enumerate(tournament.entrants, start=1)}
    scoring = tournament.scoring
    lines = [f"012 {title}"] if title else []
    lines.append(f"062 {len(numbers)}")
    lines.append(f"XXR {rounds}")
    if scoring != FIDE_SCORING:
        win, draw, bye = (f"{value / 10:.1f}" for value in scoring)
        lines.append(f"XXS W={win} D={draw} PAB={bye}")
        lines += [f"BBW {win:>4}", f"BBD {draw:>4}", f"BBU {bye:>4}"]
    lines.append(f"XXC {'white1' if a_first else 'black1'}")
    if absent := [str(numbers[player]) for player in tournament.entrants if player in tournament.out]:
        lines.append(f"XXZ {' '.join(absent)}")
    cells: dict[str, list[str]] = {player: [] for player in numbers}
    points = dict.fromkeys(numbers, 0)
    for past in tournament.rounds:
        row = dict.fromkeys(numbers, "  0000 - Z")
        for player, bye in past.byes.items():
            row[player] = f"  0000 - {_BYES[bye]}"
            points[player] += _bye_points(bye, scoring)
        for game in past.games:
            signs = _FORFEITED if game.forfeit else _PLAYED
            for player, other, side, won in (
                (game.a, game.b, "w", game.points[0]),
                (game.b, game.a, "b", game.points[1]),
            ):
                row[player] = f"  {numbers[other]:4} {side} {signs[won]}"
                points[player] += scoring.of(won)
        for player, cell in row.items():
            cells[player].append(cell)
    for player, number in numbers.items():
        info = (players or {}).get(player, PlayerInfo(player))
        name, rating = info.name[:MAX_NAME], "" if info.rating is None else info.rating
        rank = number if info.rank is None else info.rank
        lines.append(
            f"001 {number:4}      {name:33} {rating:>4}{'':28}{points[player] / 10:4.1f} {rank:4}"
            + "".join(cells[player])
        )
    return "\n".join(lines) + "\n"


class Report(NamedTuple):
    """What a file says: the tournament, the number of rounds if it is there, and who has side A first."""

    tournament: Tournament
    rounds: int | None
    a_first: bool | None
    players: dict[str, PlayerInfo]


def read(text: str) -> Report:
    """The tournament of a file. Players are called by their numbers. Raises FormatError."""
    lines: dict[str, list[str]] = {}
    for line in text.removeprefix("\ufeff").splitlines():
        lines.setdefault(line[:3], []).append(line)
    for code in _UNSUPPORTED:
        if code in lines:
            raise FormatError(f"the line {lines[code][0].strip()!r} is not supported")
    try:
        return _read(lines)
    except (ValueError, KeyError, IndexError) as error:
        raise FormatError(f"this is not a tournament report file that can be read: {error}") from None


def _read(lines: dict[str, list[str]]) -> Report:
    words = [word for line in lines.get("XXC", []) for word in line[4:].split()]
    rows = lines.get("001", [])
    if "rank" not in words:
        rows = sorted(rows, key=lambda line: int(line[_NUMBER]))
    entrants = [str(int(line[_NUMBER])) for line in rows]
    if twice := next((name for name in entrants if entrants.count(name) > 1), None):
        raise FormatError(f"player {twice} is there twice")
    results = {name: [*_cells(line[_RESULTS:])] for name, line in zip(entrants, rows, strict=True)}
    count = max(map(len, results.values()), default=0)
    rounds = tuple(_past_round(results, index) for index in range(count))
    scoring = _scoring(lines)
    out = frozenset(str(int(one)) for line in lines.get("XXZ", []) for one in line[4:].split())
    first_sides = [word == "white1" for word in words if word in ("white1", "black1")]
    players = {}
    for name, line in zip(entrants, rows, strict=True):
        players[name] = PlayerInfo(line[_NAME].strip(), _number(line[_RATING]), _number(line[_RANK]))
        stated, found = _tenths(line[_POINTS_AT]), _sum_points(name, rounds, scoring)
        if stated != found:
            raise FormatError(f"player {name} has {stated / 10:g} points, and its results give {found / 10:g}")
    stated_rounds = [int(line[4:]) for line in lines.get("XXR", [])]
    return Report(
        Tournament(tuple(entrants), rounds, out=out, scoring=scoring),
        stated_rounds[0] if stated_rounds else None,
        first_sides[0] if first_sides else None,
        players,
    )


def _scoring(lines: Mapping[str, list[str]]) -> Scoring:
    """The points, from the lines of either program. Without a line of its own, a bye has the points of a win."""
    win, draw, bye = FIDE_SCORING.win, FIDE_SCORING.draw, None
    for line in lines.get("XXS", []):
        values = {key: _tenths(value) for key, value in (part.split("=") for part in line[4:].split())}
        win, draw, bye = values["W"], values["D"], values.get("PAB")
    stated = {code: _tenths(lines[code][-1][4:]) for code in ("BBW", "BBD", "BBU") if code in lines}
    win, draw, bye = stated.get("BBW", win), stated.get("BBD", draw), stated.get("BBU", bye)
    return Scoring(win, draw, win if bye is None else bye)


def _tenths(points: str) -> int:
    return round(float(points) * 10)


def _number(text: str) -> int | None:
    return int(text) if text.strip() else None


def _cells(text: str) -> Iterator[tuple[str, str, str]]:
    """The results of a line: the opponent's number, the side, and the sign of the result."""
    for start in range(0, len(text.rstrip()), _RESULT_WIDTH):
        cell = text[start : start + 8].ljust(8)
        yield cell[:4].strip() or "0000", cell[5], cell[7].strip().upper() or "Z"


def _past_round(results: dict[str, list[tuple[str, str, str]]], index: int) -> PastRound:
    games: list[GameResult] = []
    byes: dict[str, Bye] = {}
    absent = ("0000", "-", "Z")
    cells = {player: one[index] if index < len(one) else absent for player, one in results.items()}
    for player, (number, side, sign) in cells.items():
        other = str(int(number))
        if other == "0":
            byes[player] = _BYE_SIGNS[sign]
        elif int(cells.get(other, absent)[0]) != int(player):
            raise FormatError(f"players {player} and {other} do not agree about round {index + 1}")
        # A forfeit may have no sides.
        elif side == "w" or (side != "b" and int(player) < int(other)):
            games.append(GameResult(player, other, (_POINTS[sign], _POINTS[cells[other][2]]), sign in "+-"))
    return PastRound(tuple(games), {player: bye for player, bye in byes.items() if bye != "absent"})


def _bye_points(bye: Bye, scoring: Scoring) -> int:
    return {"bye": scoring.bye, "full_point": scoring.win, "half_point": scoring.draw, "absent": 0}[bye]


def _sum_points(player: str, rounds: tuple[PastRound, ...], scoring: Scoring) -> int:
    total = 0
    for past in rounds:
        total += _bye_points(past.byes.get(player, "absent"), scoring)
        for game in past.games:
            total += scoring.of(game.points[(game.a, game.b).index(player)]) if player in (game.a, game.b) else 0
    return total


def scores(tournament: Tournament) -> dict[str, int]:
    """The points of each player, in tenths."""
    total = dict.fromkeys(tournament.entrants, 0)
    for past in tournament.rounds:
        for player, bye in past.byes.items():
            total[player] += _bye_points(bye, tournament.scoring)
        for game in past.games:
            for player, points in zip((game.a, game.b), game.points, strict=True):
                total[player] += tournament.scoring.of(points)
    return total
