"""What holds in every tournament, in random ones: some in ``make test``, and thousands in ``make long``.

In each there are forfeits, and in each but one of a knockout players leave between rounds, by ``play_tournament``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from leaguekit.formats.base import Tournament
from leaguekit.formats.knockout import Knockout
from leaguekit.formats.swiss import Swiss
from leaguekit.formats.testing import play_tournament
from leaguekit.league import commands
from leaguekit.league import events as e
from leaguekit.league.fold import fold
from leaguekit.league.snapshot import restore, save
from leaguekit.manager.rounds.pairing_engine import Py4Swiss
from tests.league.play import Play, drawn, failed, won

# The number of tournaments in which each property is shown.
in_random_tournaments = pytest.mark.parametrize("count", [20, pytest.param(2_000, marks=pytest.mark.longest)])


@in_random_tournaments
def test_a_knockout_has_one_decided_pairing_less_than_players(count: int) -> None:
    for seed in range(count):
        random = Random(seed)
        size, best_of, third_place = random.randint(2, 40), random.choice((1, 3, 5)), random.random() < 0.5
        made = Knockout(best_of, third_place)
        tournament, ended, rounds = play_tournament(made, size, seed)
        pairings = [pairing for stage in made.stages(tournament) for pairing in stage.pairings]
        has_third_place = third_place and size >= 4
        assert len(pairings) == size - 1 + has_third_place, seed
        assert len({frozenset(pairing.players) for pairing in pairings}) == len(pairings)
        losers = Counter(pairing.loser for pairing in (pairings[:-1] if has_third_place else pairings))
        assert losers == Counter(set(tournament.entrants) - {ended.ranking[0]}), "everybody but the champion loses once"
        for pairing in pairings:
            assert len(pairing.games) <= best_of + 1
            # The sides are swapped from game to game.
            assert all(one.a == other.b for one, other in zip(pairing.games, pairing.games[1:], strict=False))
        final = made.stages(tournament)[-1].pairings[0]
        assert ended.ranking[:2] == [final.winner, final.loser]
        if has_third_place:
            assert ended.ranking[2:4] == [pairings[-1].winner, pairings[-1].loser]
        assert all(not one.byes for one in rounds), "a rest in a knockout is not a win"


class _Engine(Py4Swiss):
    """The pairing engine, which notes whether it found a pairing for every round."""

    has_paired_all = True

    def pair(self, trf: str) -> list[tuple[int, int]] | None:
        pairs = super().pair(trf)
        self.has_paired_all &= pairs is not None
        return pairs


def _random_swisses(count: int, max_size: int) -> Iterator[tuple[int, Tournament, _Engine]]:
    """A number of Swiss tournaments, each with its number of rounds."""
    seed = 0
    while count:
        random, engine = Random(seed), _Engine()
        size, rounds = random.randint(2, max_size), random.choice(("auto", *range(1, 10)))
        made = Swiss(rounds)
        if made.player_count_error(size) is None:
            tournament, _, _ = play_tournament(made, size, seed, engine=engine, withdrawals=random.random() < 0.7)
            yield made.total_rounds(size), tournament, engine
            count -= 1
        seed += 1


@in_random_tournaments
def test_in_a_swiss_that_the_rules_can_pair_the_sides_and_the_byes_are_even(count: int) -> None:
    """FIDE, C.04.1.4, C.04.1.6 and C.04.1.7."""
    judged = 0
    for total, tournament, engine in _random_swisses(count, 20):
        if not engine.has_paired_all:
            continue
        judged += 1
        had_bye: set[str] = set()
        sides: dict[str, list[bool]] = {player: [] for player in tournament.entrants}
        for number, past in enumerate(tournament.rounds, start=1):
            assert len(past.byes) <= 1
            assert not had_bye & past.byes.keys(), "nobody rests again, and nobody who won by a forfeit rests"
            had_bye |= past.byes.keys()
            for game in past.games:
                for player, points in zip((game.a, game.b), game.points, strict=True):
                    if not game.forfeit:
                        sides[player].append(player == game.a)
                    elif points:
                        had_bye.add(player)
            # For players in the lead, the last round is an exception.
            if number < total:
                for had in sides.values():
                    assert abs(2 * sum(had) - len(had)) <= 2
                    assert len({*had[-3:]}) == 2 or len(had) < 3
    assert judged > count / 2


@in_random_tournaments
def test_in_a_swiss_players_meet_again_only_if_there_is_no_other_way(count: int) -> None:
    """FIDE, C.04.1.2."""
    for _, tournament, _ in _random_swisses(count, 16):
        met: set[frozenset[str]] = set()
        had_bye: Counter[str] = Counter()
        for number, past in enumerate(tournament.rounds, start=1):
            pairs = [frozenset((game.a, game.b)) for game in past.games]
            if met & {*pairs}:
                players = sorted({player for pair in pairs for player in pair} | past.byes.keys())
                fewest = min(had_bye[player] for player in players)
                resting = [player for player in players if had_bye[player] == fewest] if len(players) % 2 else [""]
                for bye in resting:
                    assert not _can_pair([one for one in players if one != bye], met), f"round {number}"
            met |= {frozenset((game.a, game.b)) for game in past.games if not game.forfeit}
            had_bye.update([*past.byes])


def _can_pair(players: list[str], met: set[frozenset[str]]) -> bool:
    """Whether these players can be paired so that nobody meets anybody again."""
    if not players:
        return True
    first, *others = players
    return any(
        frozenset((first, other)) not in met and _can_pair([one for one in others if one != other], met)
        for other in others
    )


def _random_league(text: str, players: int, random: Random) -> Play:
    """The log of a league with random results, technical losses and withdrawals."""
    play = Play(players=players, referees=1, format=text, seed_hex=random.randbytes(32).hex())
    play.start()
    while play.league.state == "RUNNING_LEAGUE":
        play.draw()
        play.announce()
        while play.league.round_in_play:
            play.assign()
            for name in play.in_play:
                match = play.match(name)
                results = [won(match, match.a), won(match, match.b), drawn(match), failed(match, match.b)]
                play.record(name, random.choice(results))
        if random.random() < 0.3:
            leaves = random.choice([*play.league.players])
            if play.league.state == "RUNNING_LEAGUE" and play.league.players[leaves].out is None:
                play.do(commands.withdraw(play.league, leaves, "ill", play.now))
    return play


@pytest.mark.parametrize("text", ["swiss", "knockout(best_of=3, third_place=True)"])
@in_random_tournaments
def test_after_a_crash_at_any_event_the_same_rounds_are_drawn(text: str, count: int) -> None:
    draws = 0
    for seed in range(count):
        random = Random(seed)
        play = _random_league(text, random.randint(3, 9), random)
        events = [e.decode(line) for line in play.log]
        # The manager comes back with a snapshot of that moment. What was played goes on as it did.
        crash = random.randint(1, len(events))
        again = Play(format=text)
        again.settings, again.log = play.settings, play.log[:crash]
        again.league, _ = restore(save(fold(events[:crash]), crash))
        for event in events[crash:]:
            if isinstance(event, e.RoundDrawn):
                again.draw()
                assert e.decode(again.log[-1]) == event, seed
                draws += 1
            else:
                again.do([event])
        assert again.league.digest() == play.league.digest()
    assert draws > count / 2
