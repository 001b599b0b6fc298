"""Explains how ties in the table were broken, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice

from msgspec import UNSET, UnsetType

from leaguekit.formats.base import TieBreak
from leaguekit.league.settings import Settings
from leaguekit.league.standings import ARBITRARY, Decider, PlacedRow

MAX_NAMED = 6
# At most this number of ties is described in sentences.
MAX_TIES = 20
_NAMES: dict[Decider, str] = {
    "buchholz": "Buchholz",
    "head_to_head": "head-to-head",
    "sonneborn_berger": "Sonneborn–Berger",
    "wins": "wins",
    "technical_losses": "technical losses",
    "lot": "a lot",
    "id": "the lower id",
}


def describe_order(settings: Settings) -> str:
    """What the table of a league is ordered by, as a text."""
    made = settings.known_format
    if made is not None and made.ranked_by:
        return made.ranked_by
    tie_breaks = settings.tie_breaks
    first = ["points"] if settings.payoff_range is UNSET else ["payoff", "points"]
    fewest = {"technical_losses": "fewest technical losses"}
    last: tuple[Decider, ...] = () if "lot" in tie_breaks else ("id",)
    return ", ".join([*first, *(fewest.get(name, _NAMES[name]) for name in (*tie_breaks, *last))])


def payoff_sentence(settings: Settings) -> str:
    """A sentence that says that the table is ranked by payoff; empty if it is not."""
    if settings.payoff_range is UNSET:
        return ""
    low, high = settings.payoff_range
    return (
        f"The table is ranked by payoff, the mean of all matches of a player ({low:g} to {high:g}); points decide only "
        "between equal payoffs."
    )


def tie_sentences(rows: Sequence[PlacedRow], tie_breaks: Sequence[TieBreak], limit: int) -> list[str]:
    """Sentences about the first ties of the table: what decided between players with equal points."""
    found = _tie_sentences(rows, tie_breaks)
    sentences = list(islice(found, limit))
    if more := sum(1 for _ in found):
        sentences.append(f"There {'is 1 more tie' if more == 1 else f'are {more} more ties'} further down.")
    return sentences


def _tie_sentences(rows: Sequence[PlacedRow], tie_breaks: Sequence[TieBreak]) -> Iterator[str]:
    first = ["points"] if not rows or rows[0].payoff is UNSET else ["payoff", "points"]
    equal_in = _joined([*first, *(_NAMES[name] for name in tie_breaks if name != "lot")])
    for (payoff, points), level in groupby(rows, key=lambda row: (row.payoff, row.points)):
        tied = list(level)
        if len(tied) == 1 or not any(row.played for row in tied):
            continue
        deciders = {row.decided_by for row in tied[1:]}
        if decisive := [_NAMES[name] for name in tie_breaks if name in deciders and name not in ARBITRARY]:
            both = points_in_words(points) if payoff is UNSET else f"{_payoff(payoff)} and {points_in_words(points)}"
            yield f"{_named(tied)} have {both} each; {_joined(decisive)} decided."
        for _, group in groupby(tied, key=lambda row: row.shown_rank):
            equal = list(group)
            if len(equal) > 1:
                arbiter = _NAMES[equal[1].decided_by or "id"]
                yield f"{_named(equal)} are equal in {equal_in}; they share the place, listed by {arbiter}."


def first_place(rows: Sequence[PlacedRow], *, is_over: bool, by_points: bool = True) -> str:
    """A sentence about the player or the players in the first place. Without ``by_points`` the format ranks them."""
    first = rows[0]
    if is_over and not by_points:
        return f"Champion: {first.player_id}"
    points = points_in_words(first.points) if first.payoff is UNSET else f"{_payoff(first.payoff)} per match"
    equal = [row for row in rows if row.shown_rank == first.shown_rank]
    if len(equal) == 1:
        return f"{'Champion' if is_over else 'In the lead'}: {first.player_id} with {points}"
    if not is_over:
        return f"{_named(equal)} share the lead with {points} each"
    arbiter = "the lot" if equal[1].decided_by == "lot" else "the lower id"
    return f"{_named(equal)} share the first place with {points} each; {arbiter} names {first.player_id} champion"


def points_in_words(points: int) -> str:
    return f"{points:,} point{'' if points == 1 else 's'}"


def _payoff(payoff: float) -> str:
    return f"a payoff of {payoff_text(payoff)}"


def payoff_text(payoff: float | UnsetType) -> str:
    """A payoff as tables show it; empty if the game has none."""
    return "" if payoff is UNSET else f"{payoff:.3f}"


def score_text(score: float | None) -> str:
    """A Sonneborn–Berger score as a text."""
    return "" if score is None else f"{score:.1f}".removesuffix(".0")


def _named(rows: Sequence[PlacedRow]) -> str:
    ids = [row.player_id for row in rows]
    return _joined(ids if len(ids) <= MAX_NAMED else [*ids[: MAX_NAMED - 1], f"{len(ids) - MAX_NAMED + 1} more"])


def _joined(words: Iterable[str]) -> str:
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last
