"""The interface of a format: who plays whom in the next round, and when a league is over.

A format is pure: the same tournament gives the same pairings. It sees completed rounds only. Two players meet in a pair
with side A first. Each game of a pairing is a round of its own, because a player plays once per round.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

Pair = tuple[str, str]
TieBreak = Literal["buchholz", "head_to_head", "sonneborn_berger", "wins", "technical_losses", "lot"]
# Why a player has no opponent in a round. ``bye``: the format found none, and it counts as a win. The other kinds are
# only in tournaments of other programs.
Bye = Literal["bye", "full_point", "half_point", "absent"]
WIN, DRAW, LOSS = 3, 1, 0


class FormatError(ValueError):
    """A format does not exist, has wrong arguments, or cannot pair this number of players. The text says what to do."""


class Scoring(NamedTuple):
    """The points of a win, a draw and a bye, in tenths."""

    win: int = 30
    draw: int = 10
    bye: int = 30

    def of(self, points: int) -> int:
        """The value of 3, 1 or 0 points of a league."""
        return {WIN: self.win, DRAW: self.draw, LOSS: 0}[points]


class GameResult(NamedTuple):
    """The result of a game, side A first. ``points`` are 3–0, 1–1, or 0–0 if both lose.

    A forfeit was decided without play: the two have not met, and have had no side.
    """

    a: str
    b: str
    points: tuple[int, int]
    forfeit: bool = False

    @property
    def winner(self) -> str | None:
        return self.a if self.points[0] == WIN else self.b if self.points[1] == WIN else None


class PastRound(NamedTuple):
    """A completed round. A player without a game and without a bye was absent, or rested."""

    games: tuple[GameResult, ...]
    byes: dict[str, Bye]
    label: str = ""


class Tournament(NamedTuple):
    """Everything on which a pairing may depend."""

    # The best is the first.
    entrants: tuple[str, ...]
    rounds: tuple[PastRound, ...]
    # The seed of the league's lots.
    seed: bytes = b""
    # Players that have left, or are absent in the next round.
    out: frozenset[str] = frozenset()
    scoring: Scoring = Scoring()
    # The number of players at the start, if some of the entrants came later.
    starters: int | None = None

    @property
    def start_size(self) -> int:
        return len(self.entrants) if self.starters is None else self.starters

    def active(self) -> list[str]:
        return [player for player in self.entrants if player not in self.out]


class NextRound(NamedTuple):
    """The next round. ``ranking`` is the order of the table until the next draw; without one the points decide."""

    pairs: list[Pair]
    byes: list[str]
    label: str
    ranking: list[str]


class Ended(NamedTuple):
    """The end: why, in a sentence, and the final ranking. Without a ranking the table decides."""

    reason: str
    ranking: list[str]


class BracketPlace(NamedTuple):
    """A place of a bracket: a pairing, or a player that advances without one.

    A player that is not known yet is None. ``winner`` is the player that advances, if that is decided.
    """

    a: str | None
    b: str | None
    winner: str | None = None
    by_lot: bool = False
    rests: bool = False
    # What is at stake if it is not the next stage, such as the third place.
    title: str = ""


class BracketStage(NamedTuple):
    """A stage of a bracket. The winners of each two places in it meet in the next one."""

    label: str
    places: list[BracketPlace]


class PairingEngine(Protocol):
    """A program that pairs a Swiss. It is outside the core."""

    # Its name and version. The same version gives the same pairings.
    version: str

    def pair(self, trf: str) -> list[tuple[int, int]] | None:
        """The pairs of the next round by pairing numbers, white first; 0 is the bye. None if there is no legal one."""


class Format(ABC):
    """A format with its arguments. The arguments of the class are those of ``--format 'name(argument=value)'``."""

    name: ClassVar[str]
    # Raise it if the same tournament gives other pairings than in the previous release.
    version: ClassVar[int] = 1
    tie_breaks: ClassVar[tuple[TieBreak, ...]] = (
        "head_to_head",
        "sonneborn_berger",
        "wins",
        "technical_losses",
        "lot",
    )
    max_players: ClassVar[int | None] = None
    # What the rankings of ``pair_next_round`` are by, in words. Without rankings the table is by points and tie-breaks.
    ranked_by: ClassVar[str] = ""
    # Whether the operator may add players after the start.
    takes_late_players: ClassVar[bool] = False
    # Whether ``pair_next_round`` needs a pairing engine.
    needs_engine: ClassVar[bool] = False
    # The arguments that are not the default, as in ``--format``.
    arguments: Mapping[str, Any] = MappingProxyType({})

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        return f"{self.name}({given})" if given else self.name

    @property
    @abstractmethod
    def advancement(self) -> str:
        """One sentence about how a player advances, or what decides."""

    def describe(self, entrants: Sequence[str]) -> str:  # noqa: ARG002 - few formats name players
        """The same about these players, once the seeding is known. It may have their ids."""
        return self.advancement

    def player_count_error(self, players: int) -> str | None:
        """Why this number of players cannot play in this format; None if they can."""
        if self.max_players is not None and players > self.max_players:
            return f"{self.name} has at most {self.max_players} players, not {players:,}"
        return None

    def full_schedule(self, entrants: Sequence[str]) -> list[list[Pair]] | None:  # noqa: ARG002 - most formats draw
        """All rounds, if they are known at the start; None if each is drawn when the previous one is over."""
        return None

    def total_rounds(self, players: int) -> int | None:  # noqa: ARG002 - some formats know it
        """The number of rounds, if it is known at the start."""
        return None

    @abstractmethod
    def ended(self, tournament: Tournament) -> Ended | None:
        """The end of a tournament; None if another round follows."""

    @abstractmethod
    def pair_next_round(self, tournament: Tournament, engine: PairingEngine | None = None) -> NextRound:
        """The next round of a tournament that has not ended."""

    def bracket(self, tournament: Tournament) -> list[BracketStage]:  # noqa: ARG002 - few formats have one
        """All stages for pages and reports, with those to come; empty if the format has no bracket.

        The last round of this tournament may still be in play, so that some of its games are missing.
        """
        return []

    def challengers_of(self, entrants: Sequence[str]) -> Sequence[str]:  # noqa: ARG002 - few formats have some
        """The players whose matches pages show one by one, because they meet everybody and the others do not."""
        return ()

    def objection(self, before: Tournament, after: Tournament) -> str | None:  # noqa: ARG002 - few formats object
        """Why a result may not be corrected after the next round was drawn; None if it may."""
        return None


class ScheduledFormat(Format):
    """A format whose rounds are all known at the start. Results do not change them."""

    @abstractmethod
    def full_schedule(self, entrants: Sequence[str]) -> list[list[Pair]]: ...

    @abstractmethod
    def match_count(self, players: int) -> int:
        """The number of matches, without the schedule."""

    def ended(self, tournament: Tournament) -> Ended | None:
        over = len(tournament.rounds) >= len(self.full_schedule(tournament.entrants))
        return Ended("All rounds have been played.", []) if over else None

    def pair_next_round(self, tournament: Tournament, engine: PairingEngine | None = None) -> NextRound:  # noqa: ARG002
        return NextRound(self.full_schedule(tournament.entrants)[len(tournament.rounds)], [], "", [])


def lot(seed: bytes, *parts: str) -> int:
    """A lot: a number that follows from the league's seed, which is committed to from the start."""
    return int(hashlib.sha256(":".join((seed.hex(), "format", *parts)).encode()).hexdigest(), 16)


def check_number(name: str, value: Any, allowed: Collection[int]) -> int:
    """An argument that must be one of these numbers. Raises FormatError."""
    if type(value) is not int or value not in allowed:
        wanted = f"from {min(allowed)} to {max(allowed)}" if isinstance(allowed, range) else _listed(allowed)
        raise FormatError(f"{name} must be {wanted}, got {value!r}")
    return value


def _listed(allowed: Collection[int]) -> str:
    *before, last = map(str, allowed)
    return f"{', '.join(before)} or {last}"
