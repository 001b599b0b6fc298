"""The settings of a league: its game, its limits, its rules. The operator can change some of them later."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert, to_builtins
from msgspec.structs import force_setattr, replace

from leaguekit.formats import Format, FormatError, find_format, parse_format
from leaguekit.formats.base import TieBreak
from leaguekit.games import describe_game, game
from leaguekit.games.base import DEFAULT_GAME
from leaguekit.protocol.fields import Count, GameType, LeagueId, Profile, Seconds
from leaguekit.protocol.messages import TimeLimits
from leaguekit.protocol.methods import CHOICE_SECONDS, GAME_OVER_SECONDS, JOIN_SECONDS

# The number of players that may register from one address, and listen at one host. A class behind one router fits.
MAX_PER_ADDRESS = 200
# The default of a setting that depends on another setting. It is not a valid value.
_NOT_SET = -1.0
# Compared by ``is``: a league that has this very tuple was given no order, and uses the order of its format.
_DEFAULT_TIE_BREAKS: tuple[TieBreak, ...] = Format.tie_breaks

_DAY = 86_400
# The limits of some settings. They are not in the types of the settings, so that older leagues can be read.
LIMITS: dict[str, tuple[float, int]] = {
    "announce_lead": (0, _DAY),
    "join_seconds": (0.01, _DAY),
    "choice_seconds": (0.01, _DAY),
    "game_over_seconds": (0.01, _DAY),
    "retry_seconds": (0, _DAY),
    "max_retries": (0, 20),
}
# What docs/settings.md calls the types of values.
_KINDS = {"float": "a number", "int": "a whole number", "str": "text", "bool": "true or false", "array": "a list"}
# The settings that may change while the league is played (``league set``).
CHANGEABLE = ("title", "max_players", "max_referees", *LIMITS, "backoff")
# The key of a setting's decision in its schema: the number of a decision in docs/why.md.
DECISION = "x-decision"


def _about(text: str, decision: int | None = None) -> Meta:
    """What a setting means, for docs/settings.md."""
    return Meta(description=text, extra_json_schema={} if decision is None else {DECISION: decision})


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A league's settings; the defaults are the specification's."""

    league_id: Annotated[LeagueId, _about("The league's id, in every message. A new one is made if it is missing")]
    title: Annotated[
        str, Meta(max_length=100, pattern=r"^[^\x00-\x1f\x7f]*\Z"), _about("What pages and reports call it")
    ] = ""
    game_type: Annotated[GameType, _about("The game", 16)] = DEFAULT_GAME
    # Left out of the log if the game has none, as in older logs. The same is true of the payoffs.
    game_args: Annotated[dict[str, Any] | UnsetType, _about("The game's arguments, such as `{turns = 50}`", 16)] = UNSET
    payoff_range: Annotated[
        tuple[float, float] | UnsetType,
        _about("The lowest and the highest payoff of a match, if the game ranks by payoff. It is set by the game", 16),
    ] = UNSET
    rounds: Annotated[
        Literal["single", "double"],
        _about("How often each pair meets. In a double round-robin it meets twice, with the sides swapped", 28),
    ] = "single"
    # This setting and the next two are not in the log if they have no value. Older releases do not know them.
    format: Annotated[
        str | UnsetType,
        _about(
            "Who plays whom: `round_robin`, `swiss`, `knockout`, `gauntlet`, with arguments as in `swiss(rounds=5)`"
        ),
    ] = UNSET
    seeding: Annotated[
        Literal["registration", "lot", "rating", "file"] | UnsetType,
        _about("The order of the players for the format: as registered, by the league's lot, or by `seeds`"),
    ] = UNSET
    seeds: Annotated[
        dict[str, float] | UnsetType,
        _about('By display name: the rating (`seeding = "rating"`), or the place (`seeding = "file"`)'),
    ] = UNSET
    # A start with 1,000 players makes 499,500 matches: it takes seconds, and a few hundred MB.
    max_players: Annotated[int, Meta(ge=2), _about("How many players may register", 7)] = 1_000
    max_referees: Annotated[int, Meta(ge=1), _about("How many referees may register")] = 100
    require_seat: Annotated[bool, _about("Whether players need a seat code to register")] = False
    strict_referees: Annotated[
        bool,
        _about("Whether referees must know the token scheme. Other referees send their own token to players", 19),
    ] = False
    announce_lead: Annotated[Seconds, _about("Seconds from a round's announcement to its first match", 23)] = 60.0
    join_seconds: Annotated[Seconds, _about("How long a player may take to accept an invitation")] = JOIN_SECONDS
    choice_seconds: Annotated[Seconds, _about("How long a player may take for a move")] = CHOICE_SECONDS
    game_over_seconds: Annotated[Seconds, _about("How long a player may take to confirm the end of a match", 34)] = (
        GAME_OVER_SECONDS
    )
    max_retries: Annotated[Count, _about("How often a request is sent again that was not answered", 30)] = 3
    retry_seconds: Annotated[
        Seconds, _about("Seconds before the first retry: 2, or 1 if the wait doubles (`backoff`)", 30)
    ] = _NOT_SET
    backoff: Annotated[
        Literal["fixed", "exponential"],
        _about("Whether the wait before each further retry is the same, or doubles", 30),
    ] = "fixed"
    profile: Annotated[
        Profile, _about("`spec`: exactly as the documents say; `open`: also agents that deviate from them", 20)
    ] = "spec"
    tie_breaks: Annotated[
        tuple[TieBreak, ...],
        _about("What decides between players with equal points, in this order. Without a lot the lower id decides", 27),
    ] = _DEFAULT_TIE_BREAKS
    seed_hex: Annotated[
        str | None, _about("The seed of draws and lots, in hex. A random one is made if it is missing", 27)
    ] = None

    def __post_init__(self) -> None:
        if self.retry_seconds == _NOT_SET:
            force_setattr(self, "retry_seconds", 1.0 if self.backoff == "exponential" else 2.0)
        if self.tie_breaks is _DEFAULT_TIE_BREAKS and (known := self.known_format) is not None:
            force_setattr(self, "tie_breaks", known.tie_breaks)

    @property
    def format_text(self) -> str:
        """The format with its arguments, as in ``--format``."""
        return self.format or ("round_robin(legs=2)" if self.rounds == "double" else "round_robin")

    def seed_key(self, display_name: str) -> float:
        """The key by which players are seeded. Those with equal keys are in the order in which they registered."""
        seeds = self.seeds or {}
        if self.seeding == "rating":
            return -seeds.get(display_name, float("-inf"))
        return seeds.get(display_name, float("inf")) if self.seeding == "file" else 0.0

    @property
    def advancement(self) -> str:
        """A sentence about how a player advances, or what decides."""
        made = self.known_format
        return f"The format is {self.format_text}." if made is None else made.advancement

    @property
    def known_format(self) -> Format | None:
        """The format; None if it is an author's that is not here."""
        return find_format(self.format_text)

    @property
    def full_name(self) -> str:
        return full_name(self.title, self.league_id)

    @property
    def game_name(self) -> str:
        """The game with its arguments, such as ``prisoners_dilemma(turns=50)``."""
        return describe_game(self.game_type, self.game_args or None)

    @property
    def seed_commitment(self) -> str:
        """The SHA-256 of the seed in hex. It is published from the start, so that nobody can change the seed."""
        return hashlib.sha256((self.seed_hex or "").encode()).hexdigest()

    @property
    def time_limits(self) -> TimeLimits:
        """The limits as they are sent to referees."""
        return convert(self, TimeLimits, from_attributes=True)


def heading(title: str, league_id: str) -> str:
    """What a page or a terminal calls a league at its top. A title need not say that it is a league."""
    return title or f"League {league_id}"


def with_game(settings: Settings) -> Settings:
    """Settings with what the game itself decides. ``game_type`` may have arguments: ``prisoners_dilemma(turns=50)``.

    In a format that ranks the players itself, payoffs do not count. Raises ProtocolError (E049) if the game is not
    known, or cannot be made with its arguments.
    """
    rules = game(settings.game_type, settings.game_args or None)
    made = settings.known_format
    ranks_itself = made is not None and bool(made.ranked_by)
    return replace(
        settings,
        game_type=rules.name,
        game_args=dict(rules.args) or UNSET,
        payoff_range=UNSET if rules.payoff_range is None or ranks_itself else rules.payoff_range,
    )


def full_name(title: str, league_id: str) -> str:
    """The title of a league with its id, or the id alone."""
    return f"{title} ({league_id})" if title else league_id


def changed_settings(settings: Settings, changes: Mapping[str, object]) -> Settings:
    """Settings with some changes. Raises msgspec.ValidationError."""
    return convert(to_builtins(settings) | dict(changes), Settings)


def find_fault(name: str, value: float) -> str | None:
    """Why a value of a setting cannot be used: no match could be played or end with it. None if it can be used."""
    minimum, maximum = LIMITS[name]
    # Written so that NaN is refused too: every comparison with NaN is false.
    return None if minimum <= value <= maximum else f"{name} must be from {minimum:g} to {maximum:,}, got {value:g}"


def describe_invalid(error: ValidationError) -> str:
    """What msgspec says of a value that is not valid, with the setting first and in the words of docs/settings.md."""
    what, _, name = str(error).removesuffix("`").partition(" - at `$.")
    for kind, words in _KINDS.items():
        what = what.replace(f"`{kind}`", words)
    return f"{name}: {what[0].lower()}{what[1:]}" if name else what


def format_fault(settings: Settings) -> str | None:
    """Why the format and the seeding of a league cannot be used; None if they can."""
    try:
        made = parse_format(settings.format_text)
    except FormatError as error:
        return str(error)
    if settings.rounds == "double" and made.name != "round_robin":
        return f"rounds = double belongs to round_robin, and the format is {made.name}"
    if "buchholz" in settings.tie_breaks and made.full_schedule(("P01", "P02", "P03")) is not None:
        return f"the tie-break buchholz belongs to a Swiss, and the format is {made.name}"
    if len(set(settings.tie_breaks)) < len(settings.tie_breaks):
        return f"tie_breaks must name each tie-break once, got {', '.join(settings.tie_breaks)}"
    if (settings.seeding in ("rating", "file")) != bool(settings.seeds):
        return f"seeding = {settings.seeding or 'registration'!r} and seeds do not go together"
    return None


def plain_format(text: str) -> dict[str, str | UnsetType]:
    """The settings for a format. A round-robin is written as in older releases. Raises FormatError."""
    made = str(parse_format(text))
    plain = {"round_robin": "single", "round_robin(legs=2)": "double"}
    return {"rounds": plain[made], "format": UNSET} if made in plain else {"format": made}


def unknown_setting(name: str) -> str:
    """The error for a setting that does not exist, with the nearest one that does."""
    known = Settings.__struct_fields__
    near = get_close_matches(name, known, 1, 0.5)
    return f"there is no setting {name!r}; {f'the nearest is {near[0]!r}' if near else 'there are ' + ', '.join(known)}"
