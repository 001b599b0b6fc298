"""The audit of a log: a league that was really played passes, and of each broken rule exactly that is found."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from leaguekit.league import commands
from leaguekit.league.audit import log_audit as audits
from leaguekit.league.audit.log_audit import Audit, Counts
from leaguekit.league.audit.preconditions import check_preconditions
from leaguekit.league.endpoints import parse_endpoint
from leaguekit.league.standings import tie_break_lot
from leaguekit.league.state import League
from tests.league.play import Play, drawn, failed
from tests.played import Log, Played, audited, by_hand, played

Tamper = Callable[[Log], None]
AT = "2025-01-15T10:30:00Z"
# What follows from a fault and is found as well.
AND_SO_ON = "…"


def setting(kind: str, nth: int = 0, **changes: Any) -> Tamper:
    """One event with fields changed; an inner one is named with __ between, and ... takes it away."""

    def tamper(log: Log) -> None:
        for path, value in changes.items():
            inner = log.of(kind, nth)
            *parents, last = path.split("__")
            for name in parents:
                inner = inner[name]
            inner[last] = value
            if value is ...:
                del inner[last]

    return tamper


def dropping(kind: str, nth: int = 0) -> Tamper:
    return lambda log: log.drop(kind, nth)


def repeating(kind: str, nth: int = 0) -> Tamper:
    return lambda log: log.repeat(kind, nth)


def inserting(number: int, kind: str, **fields: Any) -> Tamper:
    """One event more, to be that number."""
    return lambda log: log.insert(number - 1, kind, **fields)


def moving(number: int, to: int) -> Tamper:
    return lambda log: log.events.insert(to - 1, log.events.pop(number - 1))


def ending_after(number: int) -> Tamper:
    return lambda log: log.events.__delitem__(slice(number, None))


def pairs(round_id: int, *of_round: tuple[str, str]) -> Tamper:
    return lambda log: log.of("LeagueStarted")["rounds"].__setitem__(round_id - 1, of_round)


def registering(number: int, kind: str, **who: str) -> Tamper:
    meta = {
        "display_name": "Late",
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": "http://localhost:1/mcp",
    }
    proof = {"conversation_id": "", "timestamp": "", "verifier": "v", "key": "k"}
    return inserting(number, kind, meta=meta, **proof, **who)


# What is done to the log of a league of four with real agents, and what is found then.
IN_A_REAL_LEAGUE: dict[str, tuple[Tamper, list[str]]] = {
    "a log begins with the league's creation": (
        dropping("LeagueCreated"),
        ["event 1: expected LeagueCreated, which begins a league, found RefereeRegistered"],
    ),
    "a league is created once": (
        repeating("LeagueCreated"),
        ["event 2: expected one LeagueCreated, found a second one"],
    ),
    "a seed is written in hex": (
        setting("LeagueCreated", settings__seed_hex="luck"),
        ["event 1: expected a seed in hex, found another text"],
    ),
    "an event is of a kind that is known": (
        setting("LeagueCompleted", event="LeagueDissolved"),
        [
            "event 28: expected an event that this version knows, found one that it cannot read "
            "(Invalid value 'LeagueDissolved' - at `$.event`)",
            "event 28: expected LeagueCompleted, for all matches have ended, found no such event",
        ],
    ),
    # Agents
    "a player's id has its form": (
        registering(8, "PlayerRegistered", player_id="X"),
        ["event 8: expected a player's id such as P01, found 'X'"],
    ),
    "a referee's id has its form": (
        registering(8, "RefereeRegistered", referee_id="P05"),
        ["event 8: expected a referee's id such as REF01, found 'P05'"],
    ),
    "no player comes after the start": (
        registering(11, "PlayerRegistered", player_id="P05"),
        ["event 11: expected no new players after the start, found the new player P05"],
    ),
    "there are no more players than places": (
        setting("LeagueCreated", settings__max_players=3),
        ["event 7: expected at most 3 players, found one more, P04"],
    ),
    "there are no more referees than places": (
        setting("LeagueCreated", settings__max_referees=1),
        ["event 3: expected at most 1 referees, found one more, REF02"],
    ),
    "players have names of their own": (
        setting("PlayerRegistered", 1, meta__display_name="Player 1"),
        ["event 5: expected a name of its own for P02, found 'Player 1', which is P01's"],
    ),
    "agents have endpoints of their own": (
        setting("PlayerRegistered", 1, meta__contact_endpoint="http://localhost:8101/mcp"),
        ["event 5: expected an endpoint of its own for P02, found P01's"],
    ),
    "agents have tokens of their own": (
        lambda log: log.of("PlayerRegistered").update(verifier=log.of("RefereeRegistered", 1)["verifier"]),
        ["event 4: expected a token of its own for P01, found REF02's"],
    ),
    # The course of the league
    "registrations end once": (
        repeating("RegistrationsClosed"),
        ["event 9: expected one end of the registrations, found a second one"],
    ),
    "a league starts after the registrations": (
        dropping("RegistrationsClosed"),
        [
            "event 8: expected one start, after the end of the registrations, "
            "found a start in WAITING_FOR_REGISTRATIONS",
            "event 9: expected no more rounds (of 0), found the announcement of round 1",
            AND_SO_ON,
        ],
    ),
    "only registered players are on the schedule": (
        pairs(1, ("P01", "P02"), ("P03", "P09")),
        ["event 9: expected a schedule of the players that are registered, found P09 in it", AND_SO_ON],
    ),
    "nobody plays twice in a round": (
        pairs(1, ("P01", "P02"), ("P04", "P01")),
        [
            "event 9: expected everybody at most once in round 1, found P01 more than once",
            "event 9: expected everybody against everybody once, found no P03–P04 and one more P01–P04",
            "event 12 (R1M2): expected P01 in one match at a time, found it in R1M1 as well",
            AND_SO_ON,
        ],
    ),
    "everybody meets everybody": (
        pairs(3),
        ["event 9: expected everybody against everybody once, found no P01–P04, P02–P03", AND_SO_ON],
    ),
    "everybody meets everybody as often as the settings say": (
        setting("LeagueCreated", settings__rounds="double"),
        [
            "event 9: expected everybody against everybody twice, once on each side, "
            "found no P01–P04, P02–P01, P03–P01, P03–P02, P04–P02 and 1 more"
        ],
    ),
    "rounds come in turn": (
        setting("RoundAnnounced", 2, round_id=2),
        ["event 22: expected round 3 (of 3), found the announcement of round 2", AND_SO_ON],
    ),
    "there are no more rounds than on the schedule": (
        inserting(28, "RoundAnnounced", round_id=4, referees=[]),
        ["event 28: expected no more rounds (of 3), found the announcement of round 4"],
    ),
    "each match of a round has a referee": (
        setting("RoundAnnounced", referees=["REF01"]),
        ["event 10: expected a known referee for each of 2 matches, found REF01", AND_SO_ON],
    ),
    "the referees of a round are known": (
        setting("RoundAnnounced", 2, referees=["REF01", "REF03"]),
        ["event 22: expected a known referee for each of 2 matches, found REF01, REF03", AND_SO_ON],
    ),
    "a round follows the end of the one before": (
        dropping("RoundCompleted"),
        [
            "event 15: expected the end of round 1 first, found the announcement of round 2",
            "event 27: expected the league's end after that of all its rounds, found no end of round 1",
            "event 27: expected RoundCompleted for round 1, whose matches have ended, found no such event",
        ],
    ),
    "nothing begins in a pause": (
        inserting(22, "LeaguePaused", reason="lunch"),
        [
            "event 23: expected no new round while the league is paused, found the announcement of round 3",
            "event 24 (R3M1): expected no new match while the league is paused, found an assignment",
            "event 25 (R3M2): expected no new match while the league is paused, found an assignment",
        ],
    ),
    "only some settings change": (
        inserting(22, "SettingsChanged", settings={"rounds": "double"}, reason=""),
        ["event 22: expected changes of settings that may change, found rounds"],
    ),
    "settings change to what a league can have": (
        inserting(22, "SettingsChanged", settings={"choice_seconds": -1}, reason=""),
        ["event 22: expected settings that a league can have, found Expected `float` >= 0.0 - at `$.choice_seconds`"],
    ),
    "only a player comes back": (
        inserting(22, "PlayerReadmitted", player_id="P77", reason=""),
        ["event 22: expected a player of the league, found P77"],
    ),
    "only a round that was announced ends": (
        inserting(10, "RoundCompleted", round_id=1),
        ["event 10: expected the end of a round that was announced, found that of round 1"],
    ),
    "a round ends once": (
        repeating("RoundCompleted"),
        ["event 16: expected one end of round 1, found a second one"],
    ),
    "a round ends after its matches": (
        moving(15, to=14),
        ["event 14: expected the end of round 1 when all its matches have ended, found R1M2 open"],
    ),
    "the league ends after its matches": (
        moving(28, to=26),
        [
            "event 26: expected the league's end when all its matches have ended, found R3M2 open",
            "event 26: expected the league's end after that of all its rounds, found no end of round 3",
            "event 27 (R3M2): expected no more play after the league's end, found ResultRecorded",
            "event 28: expected no more play after the league's end, found RoundCompleted",
        ],
    ),
    "a league without a match has no end": (
        lambda log: log.events.__delitem__(slice(7, 27)),
        ["event 8: expected the league's end when all its matches have ended, found no match"],
    ),
    "the league ends with its last match": (
        dropping("LeagueCompleted"),
        ["event 27: expected LeagueCompleted, for all matches have ended, found no such event"],
    ),
    "nothing is played after the end": (
        lambda log: log.repeat("ResultRecorded", last=True),
        ["event 29 (R1M1): expected no more play after the league's end, found ResultRecorded"],
    ),
    # Matches
    "a match is on the schedule": (
        setting("MatchAssigned", match_id="R9M9"),
        ["event 11 (R9M9): expected a match of the schedule, found R9M9", AND_SO_ON],
    ),
    "a match is given to a referee of the league": (
        setting("MatchAssigned", referee_id="REF09"),
        ["event 11 (R1M1): expected a referee of the league, found REF09", AND_SO_ON],
    ),
    "a match is given to one referee at a time": (
        repeating("MatchAssigned"),
        ["event 12 (R1M1): expected a match that waits for a referee, found one that REF01 has in hand"],
    ),
    "a match is given out in its round": (
        inserting(11, "MatchAssigned", match_id="R2M1", referee_id="REF01", attempt=1),
        ["event 11 (R2M1): expected a match that waits for a referee, found one that was not announced"],
    ),
    "a match that has ended is not given out": (
        inserting(14, "MatchAssigned", match_id="R1M1", referee_id="REF01", attempt=2),
        [f"event 14 (R1M1): expected a match that waits for a referee, found one that ended at {AT}"],
    ),
    "a match is not given to a referee that is lost": (
        inserting(22, "RefereeLost", referee_id="REF01", reason="silent"),
        [
            "event 24 (R3M1): expected a referee that is free, found REF01, which is lost",
            "event 26 (R3M1): expected no result of REF01, which is lost, found its result",
        ],
    ),
    "each match counts once": (
        repeating("ResultRecorded"),
        [f"event 14 (R1M1): expected a result of an attempt that is open, found one of a match that ended at {AT}"],
    ),
    "a result is of a match that was given out": (
        dropping("MatchAssigned", 5),
        [
            "event 25 (R3M2): expected a result of an attempt that is open, "
            "found one of a match that waits for a referee",
            AND_SO_ON,
        ],
    ),
    "a result is of the referee that has the match": (
        setting("ResultRecorded", referee_id="REF02"),
        ["event 13 (R1M1): expected the result of attempt 1 by REF01, found that of attempt 1 by REF02"],
    ),
    "a result gives points as ruled": (
        setting("ResultRecorded", result__score={"P01": 3, "P02": 3}),
        [
            "event 13 (R1M1): expected 3–0 for a win, 1–1 for a draw, 0–0 if both lose, "
            "found this: The winner None, the score 3–3 and DRAW do not go together."
        ],
    ),
    "a result gives points to its players": (
        setting("ResultRecorded", 5, result__score={"P01": 3, "P03": 0}),
        ["event 26 (R3M2): expected points for P02 and P03, found points for P01 and P03", AND_SO_ON],
    ),
    # Outcomes and draws
    "the winner is the one that the rules give": (
        setting("ResultRecorded", 5, result__winner="P02", result__score={"P02": 3, "P03": 0}),
        ["event 26 (R3M2): expected a win of P03, by P02's even and P03's odd and the number 7, found a win of P02"],
    ),
    "choices are such as the rules allow": (
        setting("ResultRecorded", result__details__choices={"P01": "seven", "P02": "even"}),
        [
            "event 13 (R1M1): expected choices that even_odd allows, found P01's seven and P02's even and the number 1 "
            "(P01 cannot have chosen that: Choice must be 'even' or 'odd', got 'seven')"
        ],
    ),
    "a ruling is one that can name how the match ended": (
        setting("ResultRecorded", result__details__ruling="JOIN_TIMEOUT"),
        ["event 13 (R1M1): expected a referee's ruling of DRAW, found the ruling JOIN_TIMEOUT"],
    ),
    "the number is the one that was committed to, and the seed's": (
        setting("ResultRecorded", 1, result__details__drawn_number=2),
        [
            "event 14 (R1M2): expected the commitment to 2 under its nonce <R1M2 nonce>, found "
            "the commitment <R1M2 commitment>",
            "event 14 (R1M2): expected the number 8, drawn from the league's seed, found the number 2",
        ],
    ),
    "the nonce opens the commitment": (
        setting("ResultRecorded", result__details__draw_nonce="00"),
        ["event 13 (R1M1): expected the commitment to 1 under its nonce 00, found the commitment <R1M1 commitment>"],
    ),
    "a commitment is opened": (
        setting("ResultRecorded", result__details__draw_nonce=...),
        ["event 13 (R1M1): expected the nonce that opens the draw's commitment, found none"],
    ),
}

# The same in a league in which everything happened that can, played by hand.
IN_AN_EVENTFUL_LEAGUE: dict[str, tuple[Tamper, list[str]]] = {
    "a player that has left does not come back": (
        lambda log: log.events.insert(36, log.of("PlayerRegistered", 1) | {"at": log.events[35]["at"]}),
        ["event 37: expected no return of P02, which has left the league, found its registration"],
    ),
    "seats are taken that were given out": (
        setting("PlayerRegistered", 5, seat="ab"),
        ["event 9: expected a seat that was given out, found another one of P05"],
    ),
    "a player leaves once": (
        repeating("PlayerWithdrawn"),
        ["event 36: expected P02 leaving once, found a second time"],
    ),
    "a referee is lost that was there": (
        repeating("RefereeLost"),
        ["event 27: expected the loss of a referee that was there, found that of REF01, which was lost already"],
    ),
    "a referee returns that was lost": (
        repeating("RefereeReturned"),
        ["event 28: expected the return of a referee that was lost, found that of REF01, which was there"],
    ),
    "failures are counted": (
        setting("FailuresCounted", 1, in_a_row=-1),
        ["event 17: expected a number of failures, found -1"],
    ),
    "failures are a player's": (
        setting("FailuresCounted", 1, player_id="P09"),
        ["event 17: expected a player of the league, found P09"],
    ),
    "a player is suspended after enough failures": (
        setting("FailuresCounted", in_a_row=4),
        ["event 16: expected the suspension of an active player after 5 failures, found that of P01, ACTIVE after 4"],
    ),
    "a player is suspended that was active": (
        repeating("PlayerSuspended"),
        [
            "event 17: expected the suspension of an active player after 5 failures, "
            "found that of P01, SUSPENDED after 5"
        ],
    ),
    "a player returns that was suspended": (
        repeating("PlayerReturned"),
        ["event 19: expected the return of a suspended player, found that of P01, which was ACTIVE"],
    ),
    "a league in a pause is not paused again": (
        repeating("LeaguePaused"),
        ["event 34: expected pauses and their ends in turn, found another LeaguePaused"],
    ),
    "only a pause ends": (
        dropping("LeaguePaused"),
        ["event 33: expected pauses and their ends in turn, found another LeagueResumed"],
    ),
    "attempts are numbered one by one": (
        setting("MatchAssigned", 2, attempt=4),
        [
            "event 20 (R1M1): expected attempt 2, found attempt 4",
            "event 21 (R1M1): expected attempt 4 to be void, found attempt 2",
            "event 22 (R1M1): expected attempt 5, found attempt 3",
        ],
    ),
    "after three void attempts a match is held": (
        dropping("MatchHeld"),
        [
            "event 24 (R1M1): expected a match that has ended or is held, found one that waits for a referee",
            "event 27 (R1M1): expected the operator's word after 3 void attempts, found another assignment",
        ],
    ),
    "a match that is held is not given out": (
        inserting(25, "MatchAssigned", match_id="R1M1", referee_id="REF01", attempt=4),
        ["event 25 (R1M1): expected a match that waits for a referee, found one that waits for the operator"],
    ),
    "a referee has no more matches than it takes": (
        setting("RefereeRegistered", 1, meta__max_concurrent_matches=1),
        [
            f"event {number} (R1M1): expected a referee that is free, found REF02, which has 1 of 1 matches in hand"
            for number in (20, 28)
        ],
    ),
    "a player that has left is given no match": (
        lambda log: (
            log.drop("MatchForfeited"),
            log.insert(37, "MatchAssigned", match_id="R2M1", referee_id="REF01", attempt=1),
        ),
        ["event 38 (R2M1): expected no match of P03, which has left the league, found an assignment", AND_SO_ON],
    ),
    "a result is of the attempt that is open": (
        setting("ResultRecorded", attempt=3),
        ["event 29 (R1M1): expected the result of attempt 4 by REF02, found that of attempt 3 by REF02"],
    ),
    "only a match's own players lose it": (
        setting("MatchForfeited", 5, losers=["P02"]),
        ["event 53 (R5M2): expected P03 or P04 losing, found P02", AND_SO_ON],
    ),
    "somebody loses a match without play": (
        setting("MatchForfeited", 5, losers=[]),
        ["event 53 (R5M2): expected P03 or P04 losing, found nobody", AND_SO_ON],
    ),
    "only a player that has left loses without play": (
        setting("MatchForfeited", losers=["P01"]),
        [
            "event 38 (R2M1): expected a loss of players that have left, by what they left for, "
            "found DISQUALIFICATION (P01: in the league)"
        ],
    ),
    "a player that has left loses by what it left for": (
        setting("MatchForfeited", ruling="WITHDRAWAL"),
        [
            "event 38 (R2M1): expected a loss of players that have left, by what they left for, "
            "found WITHDRAWAL (P03: DISQUALIFICATION)"
        ],
    ),
    "only a match in play is lost by a player that cannot be reached": (
        setting("MatchForfeited", ruling="UNREACHABLE"),
        ["event 38 (R2M1): expected an open attempt to be lost by a player that cannot be reached, found none"],
    ),
    "a match is lost without play once": (
        repeating("MatchForfeited"),
        [
            "event 39 (R2M1): expected a match that is still to end, found one that ended at 2025-01-15T10:30:36Z",
        ],
    ),
    "a player that has left loses every match of a round": (
        ending_after(37),
        [
            "event 37 (R2M1): expected a loss of P03, having left the league, found no result",
            "event 37 (R2M2): expected a loss of P02, having left the league, found no result",
        ],
    ),
    "an attempt is void once": (
        repeating("AttemptVoided"),
        ["event 20 (R1M1): expected an open attempt to be void, found a match that waits for a referee"],
    ),
    "the open attempt is the one that is void": (
        setting("AttemptVoided", attempt=2),
        ["event 19 (R1M1): expected attempt 1 to be void, found attempt 2"],
    ),
    "only a match that waits is held": (
        inserting(30, "MatchHeld", match_id="R1M1"),
        ["event 30 (R1M1): expected a match that waits to be held, found one that ended at 2025-01-15T10:30:28Z"],
    ),
    "a match is held after enough void attempts only": (
        lambda log: (
            log.insert(21, "MatchHeld", match_id="R1M1"),
            log.insert(22, "MatchReplayed", match_id="R1M1", reason=""),
        ),
        [
            "event 22 (R1M1): expected a match held after 3 void attempts, found one held after 2",
            AND_SO_ON,
        ],
    ),
    "only a match that has ended is played again": (
        inserting(13, "MatchReplayed", match_id="R1M1", reason=""),
        ["event 13 (R1M1): expected a match that has ended or is held, found one that waits for a referee"],
    ),
    "a player that has left does not play again": (
        inserting(36, "MatchReplayed", match_id="R1M1", reason=""),
        [
            "event 36 (R1M1): expected no rematch of P02, which has left the league, found a rematch",
            "event 56: expected the league's end when all its matches have ended, found R1M1 open",
            "event 65 (R1M1): expected a loss of P02, having left the league, found no result",
        ],
    ),
    "only a match of an announced round is corrected": (
        setting("ResultCorrected", match_id="R2M1"),
        ["event 32 (R2M1): expected a match whose round was announced, found one of round 2"],
    ),
    "a correction gives points as ruled": (
        setting("ResultCorrected", result__winner="P01"),
        [
            "event 32 (R1M1): expected 3–0 for a win, 1–1 for a draw, 0–0 if both lose, "
            "found this: The winner P01, the score 1–1 and DRAW do not go together."
        ],
    ),
}


def findings(lines: list[bytes], kept: dict[str, bytes] | None = None) -> list[str]:
    return [str(finding) for finding in audited(lines, kept).findings]


def filled(text: str) -> str:
    """A finding with the secrets of a referee in it, which are others in every league."""
    for match in ("R1M1", "R1M2"):
        report = next(
            event for line in played().log if (event := json.loads(line)).get("match_id") == match and "result" in event
        )
        for secret in ("commitment", "nonce"):
            text = text.replace(f"<{match} {secret}>", report["result"]["details"][f"draw_{secret}"])
    return text


def check(league: Played, tamper: Tamper, expected: list[str]) -> None:
    assert findings(league.log) == []
    log = Log(league.log)
    tamper(log)
    found = findings(log.lines())
    if expected[-1] == AND_SO_ON:
        assert len(found) >= len(expected)
        found, expected = found[: len(expected) - 1], expected[:-1]
    assert found == [filled(text) for text in expected]


@pytest.mark.parametrize(("tamper", "expected"), IN_A_REAL_LEAGUE.values(), ids=IN_A_REAL_LEAGUE.keys())
def test_of_each_rule_that_is_broken_in_a_real_league_exactly_that_is_found(
    tamper: Tamper, expected: list[str]
) -> None:
    check(played(), tamper, expected)


@pytest.mark.parametrize(("tamper", "expected"), IN_AN_EVENTFUL_LEAGUE.values(), ids=IN_AN_EVENTFUL_LEAGUE.keys())
def test_of_each_rule_that_is_broken_in_an_eventful_league_exactly_that_is_found(
    tamper: Tamper, expected: list[str]
) -> None:
    check(by_hand(), tamper, expected)


# A league that is right


def test_a_real_league_passes_and_everything_in_it_was_checked() -> None:
    audit = audited(*played())
    assert (audit.findings, audit.faults, audit.league_id) == ([], 0, "league_2025_even_odd")
    assert audit.counts == Counts(
        events=28,
        players=4,
        referees=2,
        rounds=3,
        matches=6,
        ended=6,
        results=6,
        outcomes_replayed=6,
        draws_opened=6,
        draws_derived=6,
        transcripts=6,
    )


@pytest.mark.parametrize("game", ["tic_tac_toe", "rock_paper_scissors"])
def test_games_without_a_draw_are_played_again_as_well(game: str) -> None:
    audit = audited(*played(game, "random", "random", "random"))
    assert audit.findings == []
    counts = audit.counts
    assert (counts.results, counts.outcomes_replayed, counts.draws_opened, counts.transcripts) == (3, 3, 0, 3)
    assert counts.not_checkable == {}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda cells: cells.rpartition(",")[0], "has not chosen"),
        (lambda cells: f"{cells},0,1,2,3,4", "somebody chose after the end"),
        (lambda cells: f"9{cells}", "cannot have chosen that: Move must be the number of a free cell"),
    ],
)
def test_a_game_that_cannot_have_been_played_so_is_found(change: Callable[[str], str], why: str) -> None:
    log = Log(played("tic_tac_toe", "random", "random", "random").log)
    choices = log.of("ResultRecorded")["result"]["details"]["choices"]
    first = next(iter(choices))
    choices[first] = change(choices[first])
    (found,) = findings(log.lines())
    assert "(R1M1): expected choices that tic_tac_toe allows, found P01's " in found
    assert why in found


@functools.cache
def with_payoffs() -> Played:
    return played("prisoners_dilemma", "random", "always_D", "always_C")


def test_a_game_with_arguments_that_leave_no_chance_is_played_again_and_commits_to_nothing() -> None:
    audit = audited(*with_payoffs())
    assert audit.findings == []
    assert (audit.counts.outcomes_replayed, audit.counts.draws_opened, audit.counts.not_checkable) == (3, 0, {})
    assert not [line for line in with_payoffs().log if b"draw_commitment" in line or b"match_seed" in line]


def test_a_false_payoff_is_found() -> None:
    assert findings(with_payoffs().log) == []
    log = Log(with_payoffs().log)
    payoffs = log.of("ResultRecorded")["result"]["details"]["payoffs"]
    player = next(iter(payoffs))
    true = f"{player}': {payoffs[player]}"
    payoffs[player] += 0.02
    (found,) = findings(log.lines())
    assert re.search(rf"expected the payoffs .*{true}.*, found the payoffs .*{player}': {payoffs[player]}", found)


def test_a_payoff_in_the_table_that_is_not_the_mean_of_the_results_is_found() -> None:
    audit = audited(with_payoffs().log)
    assert audit.findings == []
    second = list(audit.league.table.standings())[1]
    row = audit.league.table.rows[second]
    true = row.payoff
    row.count_payoff(0.5)
    row.count_payoff(0.7, -1)
    audit.league.table.add_player(second, "has been touched")
    (found,) = [str(finding) for finding in audit.close()]
    expected, _, in_the_table = found.partition(", found ")
    assert f"{second} with" in expected
    assert f"and a payoff of {true:g}" in expected
    assert in_the_table.endswith(f"and a payoff of {row.payoff:g}")


def test_an_eventful_league_passes_and_what_referees_did_not_tell_is_counted() -> None:
    audit = audited(*by_hand())
    assert audit.findings == []
    counts = audit.counts
    assert (counts.ended, counts.technical_losses, counts.forfeits) == (10, 6, 6)
    assert (counts.results, counts.corrections, counts.rematches, counts.voids) == (4, 1, 1, 3)
    assert counts.not_checkable["the referee did not commit to its draw"] == 4


def test_a_forfeit_that_was_corrected_is_no_ruling_of_the_manager_any_more() -> None:
    play = Play(players=4, referees=1).begin()
    play.do(commands.disqualify(play.league, "P01", "cheated", play.now))
    play.do(commands.correct(play.league, "R1M1", drawn(play.match("R1M1")), "it did not", play.now))
    counts = audited(play.log).counts
    assert (counts.technical_losses, counts.forfeits) == (0, 0)


def test_every_part_of_a_league_passes_while_it_is_played() -> None:
    # These are appended together with what they follow from: no log ends before them.
    together = ("MatchForfeited", "RoundCompleted", "LeagueCompleted", "MatchHeld")
    for league in (played(), by_hand()):
        kinds = [json.loads(line)["event"] for line in league.log]
        for number in range(1, len(kinds)):
            if kinds[number] not in together:
                assert findings(league.log[:number]) == []


@pytest.mark.parametrize("losers", [["P01"], ["P01", "P02"]])
def test_technical_losses_of_one_and_of_both_pass(losers: list[str]) -> None:
    play = Play(players=2, referees=1, seed_hex="5e").begin()
    play.record("R1M1", failed(play.match("R1M1"), *losers))
    audit = audited(play.log)
    assert audit.findings == []
    assert (audit.counts.technical_losses, audit.counts.outcomes_replayed) == (1, 0)


def test_a_match_that_was_played_again_counts_as_it_was_played_last() -> None:
    play = Play(players=2, referees=1)
    play.begin()
    play.do(commands.withdraw(play.league, "P01", "", play.now))
    assert audited(play.log).findings == []
    again = Play(players=3, referees=1).begin()
    again.record("R1M1")
    again.do(commands.rematch(again.league, "R1M1", "", again.now))
    assert audited(again.log).counts.ended == 0
    again.play_all()
    audit = audited(again.log)
    assert (audit.findings, audit.counts.ended, audit.counts.results) == ([], 3, 4)


# What is wrong with the log itself


def test_a_gap_in_the_numbers_is_found() -> None:
    audit = Audit()
    first, second, *_ = played().log
    audit.take(1, first)
    audit.take(3, second)
    assert [str(finding) for finding in audit.close()] == ["event 3: expected event 2, found event 3"]


@pytest.mark.parametrize("text", [b"", b"{", b'{"event":"\xff"}', b"[" * 100_000])
def test_what_is_no_event_is_found(text: bytes) -> None:
    (found,) = findings([played().log[0], text])
    assert found.startswith("event 2: expected an event that this version knows, found one that it cannot read (")


def test_an_empty_log_is_no_league() -> None:
    audit = audited([])
    assert [str(finding) for finding in audit.findings] == [
        "event 0: expected LeagueCreated, which begins a league, found no event at all"
    ]
    assert audit.league_id is None


def test_a_clock_that_was_set_back_is_a_warning_and_no_fault() -> None:
    log = Log(played().log)
    log.of("RoundAnnounced", 1)["at"] = "2025-01-15T10:29:59Z"
    audit = audited(log.lines())
    assert (audit.faults, audit.warnings) == (0, 1)
    (finding,) = audit.findings
    assert finding.is_warning
    assert str(finding) == f"event 16: expected no time before {AT}, found 2025-01-15T10:29:59Z"


def test_an_event_that_cannot_be_folded_for_whatever_reason_is_found() -> None:
    # Two at one address are a fault; when the first has moved, the second has none to give up.
    log = Log(played().log)
    first, second = log.of("PlayerRegistered"), log.of("PlayerRegistered", 1)
    endpoint = second["meta"]["contact_endpoint"] = first["meta"]["contact_endpoint"]
    log.events[7:7] = [first | {"meta": first["meta"] | {"contact_endpoint": "http://127.0.0.1:8199/mcp"}}, second]
    assert findings(log.lines())[-1] == (
        "event 9: expected an event that fits those before it, found PlayerRegistered, which does not "
        f"(KeyError({str(parse_endpoint(endpoint))!r}))"
    )


def test_a_referee_that_comes_back_and_events_without_rules_are_no_faults() -> None:
    log = Log(played().log)
    log.repeat("RefereeRegistered")
    assert findings(log.lines()) == []
    assert list(check_preconditions(Unheard(), League())) == []


class Unheard:
    """An event of some later version."""


def test_of_very_many_faults_the_first_are_kept_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audits, "MAX_FINDINGS", 3)
    audit = audited([played().log[0], *[b"{}"] * 10])
    assert (len(audit.findings), audit.faults) == (3, 10)


def test_a_table_that_is_not_what_the_results_make_is_found() -> None:
    audit = audited(played().log)
    assert audit.findings == []
    second, third = list(audit.league.table.standings())[1:3]
    audit.league.table.rows[third].losses += 1
    audit.league.table.add_player(third, "has been touched")
    scores = [str(finding) for finding in audit.close()]
    assert len(scores) == 1
    assert third in scores[0]
    assert second not in scores[0]


def test_an_order_that_is_not_that_of_the_lots_is_found() -> None:
    play = Play(players=2, referees=1, seed_hex="5e" * 32).begin()
    play.record("R1M1", drawn(play.match("R1M1")))
    audit = audited(play.log)
    assert audit.findings == []
    first, second = audit.league.table.standings()
    assert tie_break_lot("5e" * 32, first) < tie_break_lot("5e" * 32, second)
    other = next(seed for seed in map(str, range(99)) if tie_break_lot(seed, first) > tie_break_lot(seed, second))
    audit.league.table.draw_lots(other)
    at_rank = [str(finding) for finding in audit.close()]
    assert len(at_rank) == 2
    assert f"expected {first} with 1 points" in at_rank[0]
    assert f"found {second} with 1 points" in at_rank[0]


# What referees may leave out


def reported(**changes: Any) -> tuple[list[str], dict[str, int]]:
    """What is found, and what is not checkable, when the first report of a real league is another."""
    log = Log(played().log)
    setting("ResultRecorded", **changes)(log)
    audit = audited(log.lines())
    return [str(finding) for finding in audit.findings], audit.counts.not_checkable


def test_a_referee_that_tells_no_choices_cannot_be_checked() -> None:
    choices = {"P01": None, "P02": "even"}
    assert reported(result__details__choices=choices) == ([], {"the referee did not report what was chosen": 1})


def test_a_referee_that_tells_no_number_cannot_be_checked_by_the_rules_but_by_the_seed() -> None:
    found, not_checkable = reported(result__details__drawn_number=None)
    assert (found, not_checkable) == ([], {"the referee did not report what was drawn": 1})
    assert reported(result__details__drawn_number=..., result__details__draw_nonce="00")[0] == [
        filled(
            "event 13 (R1M1): expected the commitment to 1 under its nonce 00, found the commitment <R1M1 commitment>"
        )
    ]


def test_a_referee_that_commits_to_nothing_may_draw_by_itself() -> None:
    assert reported(result__details__draw_commitment=...) == ([], {"the referee did not commit to its draw": 1})
    found, not_checkable = reported(result__details__draw_commitment=..., result__details__drawn_number=9)
    assert found == []
    assert set(not_checkable) == {
        "the referee did not commit to its draw",
        "the referee drew a number of its own",
    }


def test_a_ruling_in_a_referees_own_words_is_no_fault() -> None:
    assert reported(result__details__ruling="remis") == ([], {})


def test_without_a_seed_draws_are_opened_but_not_made_again() -> None:
    log = Log(played().log)
    log.of("LeagueCreated")["settings"]["seed_hex"] = "luck"
    log.of("ResultRecorded")["result"]["details"]["drawn_number"] = None
    counts = audited(log.lines()).counts
    assert (counts.draws_opened, counts.draws_derived) == (5, 0)
    assert counts.not_checkable == {
        "the referee did not report what was drawn": 1,
        "nothing was drawn, and the league's seed is not known": 1,
        "the league's seed is not known": 5,
    }


def test_a_game_that_is_not_known_here_cannot_be_checked() -> None:
    log = Log(played().log)
    log.of("LeagueCreated")["settings"]["game_type"] = "chess"
    audit = audited(log.lines())
    assert audit.findings == []
    assert audit.counts.not_checkable == {
        "the game chess is not known here; install its package, or give --game FILE.py:CLASS": 6
    }


# Transcripts


def with_transcript(change: Callable[[dict[str, Any]], None], match_id: str = "R1M1") -> Audit:
    log, kept = played()
    transcript = json.loads(kept[f"transcript/{match_id}"])
    change(transcript)
    return audited(log, kept | {f"transcript/{match_id}": json.dumps(transcript).encode()})


def entry(transcript: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(one for one in transcript["entries"] if one.get("message_type") == kind)


IN_TRANSCRIPTS: dict[str, tuple[Callable[[dict[str, Any]], Any], list[str]]] = {
    "another commitment before the choices": (
        lambda it: entry(it, "CHOOSE_PARITY_CALL")["body"]["context"].update(draw_commitment="00"),
        ["the commitment <R1M1 commitment> in the call to P01, found the commitment 00"],
    ),
    "no commitment before the choices": (
        lambda it: entry(it, "CHOOSE_PARITY_CALL")["body"].pop("context"),
        ["the commitment <R1M1 commitment> in the call to P01, found the commitment None"],
    ),
    "another winner": (
        lambda it: entry(it, "GAME_OVER")["body"]["game_result"].update(winner_player_id="P01"),
        ['winner_player_id null in GAME_OVER to P01, found winner_player_id "P01"'],
    ),
    "the wrong parity of the number": (
        lambda it: entry(it, "GAME_OVER")["body"]["game_result"].update(number_parity="even"),
        ['number_parity "odd" in GAME_OVER to P01, found number_parity "even"'],
    ),
    "no result at all": (
        lambda it: entry(it, "GAME_OVER").pop("body"),
        [
            'status "DRAW" in GAME_OVER to P01, found status null',
            'choices {"P01":"even","P02":"even"} in GAME_OVER to P01, found choices null',
            "drawn_number 1 in GAME_OVER to P01, found drawn_number null",
            'number_parity "odd" in GAME_OVER to P01, found number_parity null',
            'draw_nonce "<R1M1 nonce>" in GAME_OVER to P01, found draw_nonce null',
        ],
    ),
    "an answer that was never given": (
        lambda it: entry(it, "CHOOSE_PARITY_RESPONSE")["body"].update(parity_choice="odd"),
        ["an answer 'even' of P01, as reported, found [\"odd\"] from it"],
    ),
}


@pytest.mark.parametrize(("change", "expected"), IN_TRANSCRIPTS.values(), ids=IN_TRANSCRIPTS.keys())
def test_what_players_were_told_is_held_against_the_report(
    change: Callable[[dict[str, Any]], None], expected: list[str]
) -> None:
    found = [str(finding) for finding in with_transcript(change).findings]
    assert found == [f"event 13 (R1M1): expected {filled(text)}" for text in expected]


def test_a_transcript_with_a_hole_or_of_another_attempt_proves_nothing() -> None:
    def with_hole(transcript: dict[str, Any]) -> None:
        entry(transcript, "CHOOSE_PARITY_RESPONSE")["body"]["parity_choice"] = "odd"
        transcript["entries"].append({"seconds": 1.0, "what": "failed", "note": "3 entries are left out here"})

    assert with_transcript(with_hole).findings == []
    other = with_transcript(lambda transcript: transcript.update(attempt=2, entries=[]))
    assert (other.findings, other.counts.transcripts) == ([], 5)
    assert other.counts.not_checkable == {"the transcript is of another attempt": 1}


def test_a_transcript_that_cannot_be_read_is_found() -> None:
    (found,) = with_transcript(lambda transcript: transcript.pop("entries")).findings
    assert (found.number, found.match_id, found.expected) == (13, "R1M1", "a transcript")
    assert "entries" in found.found
