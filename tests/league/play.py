"""A league that a test plays by hand: commands are given, their events applied and kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import UNSET

from leaguekit.formats import parse_format
from leaguekit.kit.documented_game import draw_number
from leaguekit.league import commands, queries
from leaguekit.league.events import Event, RegistrationRefused, decode, encode
from leaguekit.league.fold import apply
from leaguekit.league.records import Match
from leaguekit.league.settings import Settings
from leaguekit.league.state import League
from leaguekit.manager.rounds.pairing_engine import Py4Swiss
from leaguekit.match.draw import match_seed
from leaguekit.protocol import messages as m
from leaguekit.protocol import times, tokens

LEAGUE = "league_2025_even_odd"
MANAGER = "http://localhost:8000/mcp"
# The order of releases before the lot, for tests that must know which of two equal players is first.
BY_ID = ("head_to_head", "wins", "technical_losses")
_BEGIN = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)


def player_meta(number: int, **changes: Any) -> m.PlayerMeta:
    fields = {
        "display_name": f"Agent {number}",
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": f"http://localhost:{8100 + number}/mcp",
    }
    return m.PlayerMeta(**fields | changes)


def referee_meta(number: int, **changes: Any) -> m.RefereeMeta:
    fields = {
        "display_name": "Referee",
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": f"http://localhost:{8000 + number}/mcp",
        "token_scheme": "derived",
    }
    return m.RefereeMeta(**fields | changes)


def number(match: Match, seed: bytes = b"") -> int:
    """What is drawn in a match of a league with that seed."""
    return draw_number(match_seed(seed, match.id, match.attempt).hex())


def details(match: Match, status: str | None, choices: dict[str, str | None], **more: Any) -> m.ResultDetails:
    known = {"drawn_number": number(match), "status": UNSET if status is None else status}
    return m.ResultDetails(choices=choices, **known | more)


def won(match: Match, winner: str, **more: Any) -> m.MatchResult:
    score = {player: 3 if player == winner else 0 for player in match.players}
    right, wrong = ("odd", "even") if number(match) % 2 else ("even", "odd")
    choices: dict[str, str | None] = {player: right if player == winner else wrong for player in match.players}
    return m.MatchResult(winner=winner, score=score, details=details(match, "WIN", choices, **more))


def drawn(match: Match, **more: Any) -> m.MatchResult:
    choices: dict[str, str | None] = dict.fromkeys(match.players, "odd")
    return m.MatchResult(
        winner=None, score=dict.fromkeys(match.players, 1), details=details(match, "DRAW", choices, **more)
    )


def failed(match: Match, *losers: str, failures: int = 4) -> m.MatchResult:
    """A technical loss of one player or both, who left that many calls unanswered."""
    winner = None if len(losers) == 2 else match.opponent_of(losers[0])
    told = {player: failures if player in losers else 0 for player in match.players}
    choices = {player: None if player in losers else "even" for player in match.players}
    return m.MatchResult(
        winner=winner,
        score={player: 3 if player == winner else 0 for player in match.players},
        details=m.ResultDetails(
            choices=choices,
            drawn_number=None,
            status="TECHNICAL_LOSS",
            ruling="JOIN_TIMEOUT",
            evidence={"late_ms": 0},
            failures=told,
        ),
    )


class Play:
    """A league in play, with its log."""

    def __init__(self, players: int = 0, referees: int = 0, **settings: Any) -> None:
        self.league = League()
        self.log: list[bytes] = []
        self.settings = Settings(league_id=LEAGUE, **settings)
        self.do(commands.create(self.settings, self.now))
        for number in range(1, referees + 1):
            self.referee(number)
        for number in range(1, players + 1):
            self.player(number)

    @property
    def now(self) -> str:
        """A time that grows with the log."""
        return times.format_timestamp(_BEGIN + timedelta(seconds=len(self.log)))

    def do(self, events: list[Event]) -> list[str]:
        """Apply events as they come back from the log; their names."""
        for event in events:
            self.log.append(encode(event))
            apply(self.league, decode(self.log[-1]))
        return [type(event).__name__ for event in events]

    def player_applicant(self, number: int, **more: Any) -> commands.Applicant[m.PlayerMeta]:
        meta = player_meta(number, **more.pop("meta", {}))
        defaults = {"conversation_id": f"conv-{number}", "timestamp": self.now, "manager_endpoint": MANAGER}
        return commands.Applicant(meta=meta, **defaults | more)

    def referee_applicant(self, number: int, **more: Any) -> commands.Applicant[m.RefereeMeta]:
        meta = referee_meta(number, **more.pop("meta", {}))
        defaults = {"conversation_id": f"conv-ref-{number}", "timestamp": self.now, "manager_endpoint": MANAGER}
        return commands.Applicant(meta=meta, **defaults | more)

    def enter(self, applicant: commands.Applicant[Any], entropy: int = 0) -> tuple[str, str]:
        """Register as the shell does: an id, a token for it, the event. The id and the token."""
        is_player = isinstance(applicant.meta, m.PlayerMeta)
        admit = commands.admit_player if is_player else commands.admit_referee
        register = commands.register_player if is_player else commands.register_referee
        name = admit(self.league, applicant, self.now)
        token = tokens.new_token(name, (len(self.log) + entropy).to_bytes(32))
        self.do(
            register(
                self.league,
                applicant,
                verifier=tokens.verifier(token),
                key=tokens.signing_key(token),
                at=self.now,
            )
        )
        return name, token

    def player(self, number: int, **more: Any) -> str:
        return self.enter(self.player_applicant(number, **more))[0]

    def referee(self, number: int, capacity: int = 2, **more: Any) -> str:
        meta = {"max_concurrent_matches": capacity} | more.pop("meta", {})
        return self.enter(self.referee_applicant(number, meta=meta, **more))[0]

    def start(self) -> list[str]:
        return self.do(commands.start(self.league, self.now))

    def announce(self) -> list[str]:
        return self.do(commands.announce_round(self.league, self.now))

    def draw(self) -> list[str]:
        """Let the format draw the next round or end the league, as the manager does."""
        made = parse_format(self.settings.format_text)
        if not commands.needs_draw(self.league):
            return []
        before = commands.tournament(self.league)
        if (ended := made.ended(before)) is not None:
            return self.do(commands.record_end(ended, self.now))
        engine = Py4Swiss() if made.needs_engine else None
        drawn_round = made.pair_next_round(before, engine)
        return self.do(commands.record_draw(self.league, drawn_round, commands.drawn_by(made, engine), self.now))

    def assign(self) -> list[str]:
        """The matches that were given out."""
        before = set(self.in_play)
        self.do(commands.assign(self.league, self.now))
        return [name for name in self.in_play if name not in before]

    @property
    def in_play(self) -> list[str]:
        return [match.id for match in self.league.matches.values() if match.in_play]

    def match(self, name: str) -> Match:
        return self.league.matches[name]

    def report(self, name: str, result: m.MatchResult, **changes: Any) -> m.MatchResultReport:
        match = self.match(name)
        fields = {
            "league_id": LEAGUE,
            "round_id": match.round_id,
            "match_id": name,
            "game_type": "even_odd",
            "attempt": match.attempt,
        }
        envelope = m.envelope("referee:REF01", _BEGIN, "conv-1")
        return m.MatchResultReport(**envelope, **fields | changes, result=result)

    def record(self, name: str, result: m.MatchResult | None = None, **changes: Any) -> list[str]:
        """A match's referee reports it; side A wins unless a result is given."""
        match = self.match(name)
        report = self.report(name, result or won(match, match.a), **changes)
        return self.do(commands.record_result(self.league, report, match.referee_id or "", self.now))

    def begin(self) -> Play:
        """Start, announce the first round, and give out what can be given."""
        self.start()
        self.draw()
        self.announce()
        self.assign()
        return self

    def play_round(self) -> None:
        """Play the round that is announced, side A winning everything."""
        while self.league.round_in_play:
            self.assign()
            for name in self.in_play:
                self.record(name)

    def play_all(self) -> Play:
        while self.league.state == "RUNNING_LEAGUE":
            self.draw()
            self.announce()
            self.play_round()
        return self

    def epilogue(self) -> Play:
        """What can still happen when all is over.

        A refused registration, seats, codes, tolerated rule breaches, a revoked token, and a second report.
        """
        self.do([refused(self.now)])
        self.do(commands.learn_form(self.league, "P01", "TYPE", self.now))
        broken = [m.BrokenRule(rule="decision 1", came="league_register", expected="register_player")]
        self.do(commands.note_broken_rules(self.league, "P01", broken, self.now))
        self.do(commands.issue_seats(self.league, [b"a seat", b"another"], self.now))
        self.do(commands.revoke_seat(self.league, "S02", self.now))
        self.do(commands.set_referee_code(b"a code for referees", self.now))
        self.do(commands.void_token(self.league, "P05", key=b"a key", code=b"a seat of its own", at=self.now))
        self.do(
            commands.flag_second_report(self.league, self.report("R1M2", drawn(self.match("R1M2"))), "REF01", self.now)
        )
        return self

    def points(self) -> dict[str, int]:
        return {row.player_id: row.points for row in queries.standings(self.league)}

    def query(self, query_type: Any, reader: str | None = None, **changes: Any) -> m.QueryData | m.QueryError:
        return queries.answer(self.league, self.asked(query_type, **changes), reader)

    def asked(self, query_type: Any, **changes: Any) -> m.LeagueQuery:
        fields = {"league_id": LEAGUE, "query_type": query_type}
        return m.LeagueQuery(**m.envelope("player:P01", _BEGIN, "conv-1"), **fields | changes)


def whole() -> Play:
    """A league in which everything happens that can."""
    play = Play(players=5, referees=2)
    play.player(5, returning_id="P05")
    play.begin()
    play.do(commands.note_failures(play.league, "P01", 5, play.now))
    play.do(commands.note_answer(play.league, "P01", play.now))
    for attempt in (1, 2, 3):
        play.do(commands.void_attempt(play.league, "R1M1", attempt, "late", play.now))
        play.assign()
    play.do(commands.rematch(play.league, "R1M1", "again", play.now))
    play.do(commands.referee_lost(play.league, "REF01", "silent", play.now))
    play.do(commands.referee_returned(play.league, "REF01", play.now))
    play.play_round()
    play.do(commands.correct(play.league, "R1M1", drawn(play.match("R1M1")), "wrong", play.now))
    play.do(commands.pause(play.league, "lunch", play.now))
    play.do(commands.resume(play.league, "go on", play.now))
    play.do(commands.withdraw(play.league, "P02", "ill", play.now))
    play.do(commands.disqualify(play.league, "P03", "cheated", play.now))
    play.do(commands.readmit(play.league, "P05", "it lost its token", play.now))
    play.do(commands.change_settings(play.league, {"title": "Winter Cup", "choice_seconds": 60}, "slow", play.now))
    return play.play_all().epilogue()


def refused(at: str, **changes: Any) -> RegistrationRefused:
    """A refused registration."""
    fields: dict[str, Any] = {
        "at": at,
        "role": "player",
        "display_name": "Late",
        "endpoint": "http://127.0.0.1:8999/mcp",
        "address": "127.0.0.1",
        "code": "E019",
        "reason": "Registration closed - league already started",
    }
    return RegistrationRefused(**fields | changes)
