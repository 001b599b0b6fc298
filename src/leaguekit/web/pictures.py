"""The pictures of matches in play, from what everybody may see of them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from leaguekit.games import find_game
from leaguekit.games.pictures import Picture, accept_picture, name_players, picture_of
from leaguekit.league.records import Match
from leaguekit.protocol.messages import MatchProgress

# The front page draws at most this number of matches in play. The page of a match always draws its match.
MAX_DRAWN = 8


def match_picture(game_name: str, match: Match, progress: MatchProgress | None) -> Picture | None:
    """The picture of a match in play, as its referee reports it; None if it reports no position."""
    if progress is None:
        return None
    picture = None if progress.picture is UNSET else accept_picture(progress.picture)
    if picture is None and progress.position is not UNSET:
        # A referee of an older release, or of another kind, sends no picture.
        picture = picture_of(find_game(game_name), progress.position)
    return None if picture is None else name_players(picture, match.a, match.b)


class LivePictures:
    """The pictures of the matches on the front page. Each is made once for each report of its referee."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[MatchProgress | None, Picture | None]] = {}

    def update(self, game_name: str, playing: Iterable[Match], progress: dict[str, MatchProgress]) -> None:
        """Make those pictures that are not made yet: of the matches that were drawn before, then of the ``playing``."""
        made = {}
        for match in sorted(playing, key=lambda match: match.id not in self._made)[:MAX_DRAWN]:
            report = progress.get(match.id)
            before, picture = self._made.get(match.id, (None, None))
            made[match.id] = (report, picture if report is before else match_picture(game_name, match, report))
        self._made = made

    def get(self, match_id: str) -> Picture | None:
        return self._made.get(match_id, (None, None))[1]
