"""The match machine: the ruling table whole, retries to the second, and what no order of inputs can break."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.games import GAMES
from leaguekit.games.base import SIDES, Game, Outcome, Question, other
from leaguekit.games.records import replay
from leaguekit.match import machine
from leaguekit.match.machine import MAX_EVENTS, MAX_REPEATS, Match, Phase
from leaguekit.match.signals import (
    Ask,
    Declined,
    Finish,
    InvalidAnswer,
    Joined,
    Limits,
    Moved,
    NoAnswer,
    RefereeLate,
    Roll,
    Rolled,
    Seat,
    SendError,
    StageEntered,
    Void,
)
from leaguekit.protocol.fields import Origin
from leaguekit.protocol.messages import MoveInfo
from tests.chance import RollingMatch, begin
from tests.marks import proves

PLAYERS = {"A": "P01", "B": "P02"}
# Binary fractions, so that sums of times are exact.
SOON = 0.125
EVEN_ODD = GAMES["even_odd"]


class Secret(Game[dict[str, str]]):
    """Both whisper a word at once, which begins with their own letter; the longer one wins, and shows at the end."""

    name = "secret"

    def start(self):
        return {}

    def to_move(self, position):
        return () if position else SIDES

    def question(self, position, side):
        return Question("whisper", [f"{side}-…"], {})

    def move_error(self, position, side, move):
        return None if isinstance(move, str) and move.startswith(f"{side}-") else "That is not your word"

    def play(self, position, moves):
        return dict(moves)

    def outcome(self, position):
        if not position:
            return None
        lengths = len(position["A"]) - len(position["B"])
        return Outcome(None if not lengths else "A" if lengths > 0 else "B", "{A} and {B} whispered")

    def view(self, position, side):
        return dict(position)


def new_match(game: Game[Any] = EVEN_ODD, *, drawn: int | None = 8, suspended: str = "", **limits: Any) -> Match:
    seats = {side: Seat(PLAYERS[side], side in suspended) for side in SIDES}
    return RollingMatch(game, "R1M1", seats, Limits(**limits), given=drawn)


def of(kind: type, effects: list[Any]) -> list[Any]:
    return [effect for effect in effects if isinstance(effect, kind)]


# What a player does when it is asked: when, and what comes in. The second argument counts its asks from 0.
Habit = Callable[[Ask, int], tuple[float, Any]]


def joins(ask: Ask, count: int) -> tuple[float, Any]:
    return ask.send_at + SOON, Joined(ask.side, ask.ask)


def refuses(ask: Ask, count: int) -> tuple[float, Any]:
    return ask.send_at + SOON, Declined(ask.side, ask.ask)


def is_silent(ask: Ask, count: int) -> tuple[float, Any]:
    return ask.deadline, NoAnswer(ask.side, ask.ask, "E001")


def is_unreachable(ask: Ask, count: int) -> tuple[float, Any]:
    return ask.send_at + SOON, NoAnswer(ask.side, ask.ask, "E009")


def answers_wrongly(code: str) -> Habit:
    return lambda ask, count: (
        ask.send_at + SOON,
        InvalidAnswer(ask.side, ask.ask, code, "It is wrong", {"field": "x"}),
    )


def answers_wrongly_after_a_while(ask: Ask, count: int) -> tuple[float, Any]:
    return ask.send_at + 1.0, InvalidAnswer(ask.side, ask.ask, "E003", "It is wrong")


def moves(move: Any) -> Habit:
    return lambda ask, count: (ask.send_at + SOON, Moved(ask.side, ask.ask, move))


def first(times: int, habit: Habit, then: Habit) -> Habit:
    return lambda ask, count: (habit if count < times else then)(ask, count)


def plays(moves_of_side: list[Any]) -> Habit:
    return lambda ask, count: (ask.send_at + SOON, Moved(ask.side, ask.ask, moves_of_side[count]))


class Shell:
    """Carries effects out in virtual time: what the referee does, without a network."""

    def __init__(self, match: Match, joining: dict[str, Habit], moving: dict[str, Habit] | None = None) -> None:
        self.match = match
        self.habits = {"join": joining, "move": moving or {}}
        self.counts: dict[tuple[str, str], int] = {}
        self.queue: list[tuple[float, int, Any]] = []
        self.serial = itertools.count()
        self.seen: list[tuple[float, Any]] = []
        self.now = 0.0

    def post(self, at: float, given: Any) -> None:
        """Something comes in at that time."""
        heapq.heappush(self.queue, (at, next(self.serial), given))

    def run(self, until: float = 10_000.0) -> list[Any]:
        if not self.seen:
            self.carry_out(self.match.start(0.0))
        while self.queue and self.queue[0][0] <= until:
            self.now, _, given = heapq.heappop(self.queue)
            self.carry_out(self.match.handle(given, self.now))
        return self.effects

    def carry_out(self, effects: list[Any]) -> None:
        for effect in effects:
            self.seen.append((self.now, effect))
            if isinstance(effect, Ask):
                count = self.counts.get((effect.what, effect.side), 0)
                self.counts[effect.what, effect.side] = count + 1
                self.post(*self.habits[effect.what][effect.side](effect, count))

    @property
    def effects(self) -> list[Any]:
        return [effect for _, effect in self.seen]

    @property
    def verdict(self) -> Any:
        (finish,) = of(Finish, self.effects)
        assert self.effects[-1] is finish
        return finish.verdict


def both(habit: Habit) -> dict[str, Habit]:
    return {"A": habit, "B": habit}


# The ruling table. What a player does, the fault that this is (None if none), and after how many seconds it shows.
# Four tries of five seconds and three waits of two make 26; of thirty seconds, 126.
JOINING: dict[str, tuple[Habit, str | None, float]] = {
    "joins": (joins, None, 0.125),
    "refuses": (refuses, "REFUSED_INVITATION", 0.125),
    "is silent": (is_silent, "JOIN_TIMEOUT", 26),
    "is unreachable": (is_unreachable, "UNREACHABLE", 6.5),
    "is silent, then gone": (first(3, is_silent, is_unreachable), "UNREACHABLE", 21.125),
    "is gone, then silent": (first(3, is_unreachable, is_silent), "JOIN_TIMEOUT", 11.375),
    "joins at the last try": (first(3, is_silent, joins), None, 21.125),
    "refuses at the last try": (first(3, is_unreachable, refuses), "REFUSED_INVITATION", 6.5),
    "leaves out a field": (answers_wrongly("E003"), "INVALID_ANSWER", 0.5),
    "names another match": (answers_wrongly("E015"), "INVALID_ANSWER", 0.5),
    "sends a bad timestamp": (answers_wrongly("E021"), "INVALID_ANSWER", 0.5),
    "sends a wrong type": (answers_wrongly("E045"), "INVALID_ANSWER", 0.5),
    "shows a wrong token": (answers_wrongly("E012"), "WRONG_TOKEN", 0.5),
    "ends with a wrong token": (first(3, answers_wrongly("E003"), answers_wrongly("E012")), "WRONG_TOKEN", 0.5),
    "begins with a wrong token": (first(3, answers_wrongly("E012"), answers_wrongly("E003")), "INVALID_ANSWER", 0.5),
    "joins after three wrong answers": (first(3, answers_wrongly("E012"), joins), None, 0.5),
    "answers wrongly, then is silent": (first(1, answers_wrongly("E003"), is_silent), "JOIN_TIMEOUT", 26),
    "suspended, is silent": (is_silent, "UNREACHABLE", 5),
    "suspended, is unreachable": (is_unreachable, "UNREACHABLE", 0.125),
    "suspended, joins": (joins, None, 0.125),
    "suspended, refuses": (refuses, "REFUSED_INVITATION", 0.125),
    "suspended, answers wrongly": (answers_wrongly("E003"), "INVALID_ANSWER", 0.5),
    "suspended, answers wrongly, then is silent": (
        first(1, answers_wrongly("E003"), is_silent),
        "JOIN_TIMEOUT",
        5,
    ),
}
MOVING: dict[str, tuple[Habit, str | None, float]] = {
    "chooses": (moves("even"), None, 0.125),
    "is silent": (is_silent, "CHOICE_TIMEOUT", 126),
    "is unreachable": (is_unreachable, "UNREACHABLE", 6.5),
    "is silent, then gone": (first(3, is_silent, is_unreachable), "UNREACHABLE", 96.125),
    "is gone, then silent": (first(3, is_unreachable, is_silent), "CHOICE_TIMEOUT", 36.375),
    "chooses at the last try": (first(3, is_silent, moves("even")), None, 96.125),
    "chooses Even": (moves("Even"), "INVALID_ANSWER", 0.5),
    "chooses null": (moves(None), "INVALID_ANSWER", 0.5),
    "leaves out a field": (answers_wrongly("E003"), "INVALID_ANSWER", 0.5),
    "names another match": (answers_wrongly("E015"), "INVALID_ANSWER", 0.5),
    "shows a wrong token": (answers_wrongly("E012"), "WRONG_TOKEN", 0.5),
    "shows a wrong token, then chooses Even": (first(2, answers_wrongly("E012"), moves("Even")), "INVALID_ANSWER", 0.5),
    "chooses after three wrong answers": (first(3, moves("Even"), moves("even")), None, 0.5),
    "chooses Even, then is silent": (first(1, moves("Even"), is_silent), "CHOICE_TIMEOUT", 126),
}
# Of two different faults, the one further to the left names the ruling.
ORDER = ["WRONG_TOKEN", "INVALID_ANSWER", "REFUSED_INVITATION", "UNREACHABLE", "JOIN_TIMEOUT", "CHOICE_TIMEOUT"]
# Who is at fault → who wins, and the score.
RESULTS: dict[tuple[bool, bool], tuple[str | None, dict[str, int]]] = {
    (True, False): ("B", {"A": 0, "B": 3}),
    (False, True): ("A", {"A": 3, "B": 0}),
    (True, True): (None, {"A": 0, "B": 0}),
}


def check_faults(verdict: Any, a: str | None, b: str | None) -> None:
    faults = {side: fault for side, fault in (("A", a), ("B", b)) if fault is not None}
    winner, score = RESULTS[a is not None, b is not None]
    assert (verdict.status, verdict.winner, verdict.score) == ("TECHNICAL_LOSS", winner, score)
    assert verdict.faults == faults
    assert verdict.ruling == min(faults.values(), key=ORDER.index)
    assert verdict.drawn is None
    assert all((PLAYERS[side] in verdict.reason) for side in faults)
    assert verdict.reason.endswith(" - no winner" if winner is None else f" - {PLAYERS[winner]} wins by default")


@pytest.mark.parametrize("a", JOINING)
def test_the_ruling_table_of_invitations(a):
    for b in JOINING:
        check_ruling_of_invitations(a, b)


def check_ruling_of_invitations(a, b):
    (habit_a, fault_a, ends_a), (habit_b, fault_b, ends_b) = JOINING[a], JOINING[b]
    suspended = "".join(side for side, what in (("A", a), ("B", b)) if what.startswith("suspended"))
    match = new_match(suspended=suspended)
    shell = Shell(match, {"A": habit_a, "B": habit_b}, both(moves("even")))
    shell.run()
    if fault_a is None and fault_b is None:
        assert shell.verdict.status == "DRAW"
        (called_at,) = {at for at, effect in shell.seen if isinstance(effect, Ask) and effect.what == "move"}
        assert called_at == max(ends_a, ends_b)
    else:
        check_faults(shell.verdict, fault_a, fault_b)
        assert shell.seen[-1][0] == max(ends_a, ends_b)
        assert shell.verdict.choices == {"A": None, "B": None}
        assert [entered.stage for entered in of(StageEntered, shell.effects)] == ["WAITING_FOR_PLAYERS", "FINISHED"]
        assert not [ask for ask in of(Ask, shell.effects) if ask.what == "move"]
        assert match.arrived == tuple(side for side, fault in (("A", fault_a), ("B", fault_b)) if fault is None)


proves(
    test_the_ruling_table_of_invitations,
    *("000-L0616", "000-L0623", "000-L0624", "000-L0711", "000-L0943", "001-L1036", "001-L1956", "001-L1958"),
    *("002-L0213", "002-L0323", "003-L0171", "003-L0265", "003-L0302", "004-L0261"),
)  # fmt: skip


@pytest.mark.parametrize("a", MOVING)
def test_the_ruling_table_of_choices(a):
    for b in MOVING:
        check_ruling_of_choices(a, b)


def check_ruling_of_choices(a, b):
    (habit_a, fault_a, ends_a), (habit_b, fault_b, ends_b) = MOVING[a], MOVING[b]
    shell = Shell(new_match(), both(joins), {"A": habit_a, "B": habit_b})
    shell.run()
    chosen = {"A": None if fault_a else "even", "B": None if fault_b else "even"}
    assert shell.verdict.choices == chosen
    assert shell.seen[-1][0] == SOON + max(ends_a, ends_b)
    stages = [entered.stage for entered in of(StageEntered, shell.effects)]
    if fault_a is None and fault_b is None:
        assert (shell.verdict.status, shell.verdict.score, shell.verdict.drawn) == ("DRAW", {"A": 1, "B": 1}, 8)
        assert stages == ["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"]
    else:
        check_faults(shell.verdict, fault_a, fault_b)
        assert stages == ["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "FINISHED"]


proves(
    test_the_ruling_table_of_choices,
    *("000-L0711", "000-L0857", "000-L0878", "000-L1436", "001-L1194", "001-L1196", "001-L1957", "001-L1958"),
    *("002-L0324", "003-L0265", "003-L0302", "004-L0261"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("choices", "status", "winner", "score"),
    [
        (("even", "odd"), "WIN", "A", {"A": 3, "B": 0}),
        (("odd", "even"), "WIN", "B", {"A": 0, "B": 3}),
        (("even", "even"), "DRAW", None, {"A": 1, "B": 1}),
        (("odd", "odd"), "DRAW", None, {"A": 1, "B": 1}),
    ],
)
def test_a_match_is_played_through_its_four_stages_to_its_verdict(choices, status, winner, score):
    match = new_match(drawn=8)
    assert match.stage == "WAITING_FOR_PLAYERS"
    assert match.start(0.0) == [
        StageEntered("WAITING_FOR_PLAYERS"),
        Ask("A", 1, "join", None, 0.0, 5.0),
        Ask("B", 2, "join", None, 0.0, 5.0),
    ]
    assert match.handle(Joined("B", 2), 1.0) == []
    assert match.arrived == ("B",)
    question = EVEN_ODD.question(begin(EVEN_ODD, given=8), "A")
    assert match.handle(Joined("A", 1), 2.0) == [
        StageEntered("COLLECTING_CHOICES"),
        Ask("A", 3, "move", question, 2.0, 32.0),
        Ask("B", 4, "move", question, 2.0, 32.0),
    ]
    assert match.stage == "COLLECTING_CHOICES"
    assert match.handle(Moved("B", 4, choices[1]), 3.0) == []
    *entered, finish = match.handle(Moved("A", 3, choices[0]), 4.0)
    assert entered == [StageEntered("DRAWING_NUMBER"), StageEntered("FINISHED")]
    assert match.stage == "FINISHED"
    verdict = finish.verdict
    assert (verdict.status, verdict.ruling, verdict.winner, verdict.score) == (status, status, winner, score)
    assert (verdict.faults, verdict.drawn, verdict.choices) == ({}, 8, {"A": choices[0], "B": choices[1]})
    assert "P0" in verdict.reason
    assert "{" not in verdict.reason
    assert match.view(None)["number"] == 8


proves(
    test_a_match_is_played_through_its_four_stages_to_its_verdict,
    *("001-L1031", "001-L1187", "001-L1189", "001-L1190", "001-L1923", "001-L1924", "001-L1925", "001-L1926"),
    *("000-L0741", "003-L0009", "003-L0032a", "003-L0161b", "004-L0166", "004-L0213"),
)  # fmt: skip


@pytest.mark.proves("000-L0568", "003-L0029", "003-L0161a")
def test_both_are_invited_at_once():
    asks = of(Ask, new_match().start(7.0))
    assert [(ask.side, ask.what, ask.send_at) for ask in asks] == [("A", "join", 7.0), ("B", "join", 7.0)]


@pytest.mark.proves("000-L0802", "000-L0803", "002-L0213", "004-L0166", "001-L1030", "001-L1031")
@pytest.mark.parametrize("one", SIDES)
def test_both_are_called_at_once_and_only_after_both_have_joined(one):
    match = new_match()
    match.start(0.0)
    assert match.handle(Joined(one, None), 1.0) == []
    assert match.arrived == (one,)
    assert match.stage == "WAITING_FOR_PLAYERS"
    effects = match.handle(Joined(other(one), None), 4.0)
    assert match.arrived == ("A", "B")
    assert [(ask.side, ask.what, ask.send_at) for ask in of(Ask, effects)] == [("A", "move", 4.0), ("B", "move", 4.0)]


def test_a_player_has_five_seconds_to_join_and_thirty_to_choose_from_the_sending_on():
    shell = Shell(new_match(), both(first(1, is_silent, joins)), both(first(1, is_silent, moves("even"))))
    windows = {(ask.what, ask.deadline - ask.send_at) for ask in of(Ask, shell.run())}
    assert windows == {("join", 5.0), ("move", 30.0)}


def test_other_limits_can_be_set():
    shell = Shell(new_match(join=1.5, choice=4.0, max_retries=0), both(joins), {"A": moves("odd"), "B": is_silent})
    shell.run()
    assert {(ask.what, ask.deadline - ask.send_at) for ask in of(Ask, shell.effects)} == {("join", 1.5), ("move", 4.0)}
    assert (shell.seen[-1][0], shell.verdict.ruling) == (SOON + 4.0, "CHOICE_TIMEOUT")


RETRIES = (
    *("000-L1321", "000-L1322", "000-L1330", "000-L1331", "000-L1332", "000-L1435"),
    *("000-L1485", "000-L1529", "000-L1581", "000-L1582", "000-L1583", "001-L1032", "001-L1035", "001-L1037"),
    *("001-L1193", "001-L1195", "001-L1564", "001-L1652", "001-L1665", "001-L1666", "001-L1946", "001-L1947"),
    *("002-L0330", "003-L0261", "003-L0262", "003-L0300", "003-L0302", "004-L0508", "004-L0511", "004-L0529b"),
)


@pytest.mark.proves(*RETRIES)
@pytest.mark.parametrize(("code", "habit", "takes"), [("E001", is_silent, None), ("E009", is_unreachable, SOON)])
@pytest.mark.parametrize(("what", "limit", "begins"), [("join", 5.0, 0.0), ("move", 30.0, SOON)])
def test_there_are_three_retries_two_seconds_apart_each_with_the_full_limit(what, limit, begins, code, habit, takes):
    joining, moving = both(joins), both(moves("even"))
    (joining if what == "join" else moving)["B"] = habit
    shell = Shell(new_match(), joining, moving)
    shell.run()
    takes = takes or limit
    asks = [(at, ask) for at, ask in shell.seen if isinstance(ask, Ask) and (ask.side, ask.what) == ("B", what)]
    sent = [begins + (takes + 2) * number for number in range(4)]
    assert [ask.send_at for _, ask in asks] == sent
    assert [ask.deadline for _, ask in asks] == [at + limit for at in sent]
    assert len({ask.question and ask.question.move_type for _, ask in asks}) == 1
    told = [(at, effect.ask, effect.fault) for at, effect in shell.seen if isinstance(effect, SendError)]
    assert {effect.side for effect in of(SendError, shell.effects)} == {"B"}
    # The error for each failure is sent when it is noticed.
    assert [at for at, _, _ in told] == [at + takes for at in sent]
    assert [ask for _, ask, _ in told] == [ask.ask for _, ask in asks]
    faults = [fault for _, _, fault in told]
    assert [fault.retry_count for fault in faults] == [1, 2, 3, 3]
    assert [fault.next_retry_at for fault in faults] == [*sent[1:], None]
    assert [fault.retryable for fault in faults] == [True, True, True, False]
    assert {fault.max_retries for fault in faults} == {3}
    assert {fault.code for fault in faults} == {code}
    action = {"join": "GAME_JOIN_ACK", "move": "CHOOSE_PARITY_RESPONSE"}[what]
    assert {(fault.action_required, fault.time_remaining) for fault in faults} == {(action, None)}
    assert [fault.consequence for fault in faults] == [
        *["Technical loss if no answer comes within 3 retries."] * 3,
        "Technical loss: no tries are left.",
    ]
    # The last error comes just before the end.
    assert [type(effect) for effect in shell.effects[-3:]] == [SendError, StageEntered, Finish]


def test_the_waits_between_retries_can_double():
    shell = Shell(new_match(retry_delay=1.0, backoff="exponential"), {"A": joins, "B": is_silent})
    shell.run()
    sent = [ask.send_at for ask in of(Ask, shell.effects) if ask.side == "B"]
    assert [after - before - 5.0 for before, after in itertools.pairwise(sent)] == [1.0, 2.0, 4.0]


def test_each_call_has_retries_of_its_own():
    shell = Shell(new_match(), both(first(3, is_silent, joins)), both(first(3, is_silent, moves("odd"))))
    shell.run()
    assert shell.verdict.status == "DRAW"
    assert [tell.fault.retry_count for tell in of(SendError, shell.effects) if tell.side == "A"] == [1, 2, 3] * 2


def test_a_suspended_player_is_asked_once_and_told_of_the_loss():
    shell = Shell(new_match(suspended="B"), {"A": joins, "B": is_silent})
    shell.run()
    assert [ask.side for ask in of(Ask, shell.effects)] == ["A", "B"]
    (tell,) = of(SendError, shell.effects)
    assert (tell.fault.retryable, tell.fault.retry_count, tell.fault.max_retries) == (False, 0, 0)


@pytest.mark.parametrize("posts", [False, True])
def test_a_suspended_player_that_joins_and_then_is_silent_has_one_try_for_its_move(posts):
    match = new_match(suspended="B", join=60.0)
    shell = Shell(match, {"A": joins, "B": is_silent if posts else joins}, {"A": moves("odd"), "B": is_silent})
    if posts:
        shell.post(1.0, Joined("B", None))
    shell.run()
    assert (shell.verdict.ruling, shell.verdict.faults) == ("CHOICE_TIMEOUT", {"B": "CHOICE_TIMEOUT"})
    asks = [ask for ask in of(Ask, shell.effects) if ask.side == "B"]
    assert [(ask.what, ask.deadline - ask.send_at) for ask in asks] == [("join", 5.0), ("move", 30.0)]


def test_a_suspended_player_that_moves_is_asked_like_any_other_from_then_on():
    game = GAMES["tic_tac_toe"]
    cells = game.question(game.start(), "A").valid_options
    moving = {"A": first(1, moves(cells[0]), is_silent), "B": moves(cells[1])}
    shell = Shell(new_match(game, drawn=None, suspended="A"), both(joins), moving)
    shell.run()
    asks = [ask for ask in of(Ask, shell.effects) if (ask.side, ask.what) == ("A", "move")]
    assert len(asks) == 1 + 4
    assert shell.match.tries("A") == (4, 4)


def test_a_player_without_retries_for_moves_is_asked_once_for_each_move_and_still_invited_four_times():
    game = GAMES["tic_tac_toe"]
    cells = game.question(game.start(), "A").valid_options
    seats = {"A": Seat("P01", move_retries=0), "B": Seat("P02")}
    moving = {"A": first(1, moves(cells[0]), is_silent), "B": first(3, is_silent, moves(cells[1]))}
    shell = Shell(Match(game, "R1M1", seats, Limits()), both(first(3, is_silent, joins)), moving)
    shell.run()
    assert shell.verdict.faults == {"A": "CHOICE_TIMEOUT"}
    asked = [(ask.side, ask.what) for ask in of(Ask, shell.effects)]
    assert [asked.count(one) for one in (("A", "join"), ("B", "join"), ("A", "move"), ("B", "move"))] == [4, 4, 2, 4]
    last = of(SendError, shell.effects)[-1].fault
    assert (last.retryable, last.retry_count, last.max_retries) == (False, 0, 0)
    assert shell.match.tries("A") == (1, 1)


WRONG_ANSWERS = (
    *("000-L0843", "000-L0855", "000-L0856", "000-L0865", "000-L0866b", "000-L0877", "000-L1284", "000-L1285"),
    *("000-L1314", "000-L1333", "000-L1532", "001-L1564", "001-L1661", "003-L0031"),
)


@pytest.mark.settles("000-L1334")
@pytest.mark.proves(*WRONG_ANSWERS)
def test_a_wrong_choice_is_told_and_asked_for_again_three_times_and_the_fourth_loses_at_once():
    match = new_match()
    shell = Shell(match, both(joins), {"A": moves("odd"), "B": moves("Even")})
    shell.run()
    asks = [ask for ask in of(Ask, shell.effects) if (ask.side, ask.what) == ("B", "move")]
    assert [ask.send_at for ask in asks] == [0.125, 0.25, 0.375, 0.5]
    assert {ask.deadline for ask in asks} == {30.125}
    assert len({ask.ask for ask in asks}) == 4
    assert all(ask.question == asks[0].question for ask in asks)
    faults = [tell.fault for tell in of(SendError, shell.effects)]
    assert {(fault.code, fault.max_retries) for fault in faults} == {("E004", 3)}
    assert [(fault.retry_count, fault.retryable) for fault in faults] == [(1, True), (2, True), (3, True), (3, False)]
    assert [fault.time_remaining for fault in faults] == [29.875, 29.75, 29.625, 29.5]
    assert all(fault.context == {"invalid_choice": "Even", "valid_choices": ["even", "odd"]} for fault in faults)
    assert {(fault.next_retry_at, fault.action_required) for fault in faults} == {(None, "CHOOSE_PARITY_RESPONSE")}
    assert "'Even'" in faults[0].detail
    assert [fault.consequence for fault in faults] == [
        *["Technical loss at wrong answer 4, or if no valid one comes before the deadline."] * 3,
        "Technical loss: no tries are left.",
    ]
    assert [type(effect) for effect in shell.effects[-3:]] == [SendError, StageEntered, Finish]
    assert (shell.verdict.ruling, shell.seen[-1][0]) == ("INVALID_ANSWER", 0.625)
    assert shell.verdict.choices == {"A": "odd", "B": None}


@pytest.mark.proves("000-L0844", "000-L0845", "000-L0846", "000-L0847", "000-L0848", "000-L0849", "000-L0850")
@pytest.mark.parametrize("move", ["Even", "EVEN", "e", "maybe", 0, False, None, "", ["even"], {"choice": "odd"}])
def test_what_is_not_exactly_even_or_odd_gets_e004(move):
    match = new_match()
    Shell(match, both(joins)).run(until=0.0)
    for side in SIDES:
        effects = match.handle(Joined(side, None), 1.0)
    ask = of(Ask, effects)[0]
    tell, again = match.handle(Moved("A", ask.ask, move), 2.0)
    assert (tell.fault.code, tell.fault.context["invalid_choice"]) == ("E004", move)
    assert (again.side, again.what, again.deadline) == ("A", "move", ask.deadline)


def test_an_illegal_move_in_another_game_gets_e057():
    shell = Shell(new_match(GAMES["rock_paper_scissors"]), both(joins), {"A": moves("rock"), "B": moves("stone")})
    shell.run()
    (fault, *_) = [tell.fault for tell in of(SendError, shell.effects)]
    assert (fault.code, fault.action_required) == ("E057", "GAME_MOVE_RESPONSE")
    assert fault.context == {"invalid_choice": "stone", "valid_choices": ["rock", "paper", "scissors"]}
    assert (shell.verdict.ruling, shell.verdict.choices) == ("INVALID_ANSWER", {"A": "rock", "B": None})


@pytest.mark.parametrize("code", ["E003", "E012", "E015", "E021", "E043", "E044", "E045"])
def test_a_wrong_answer_to_an_invitation_is_told_with_its_code_and_context_and_asked_for_again(code):
    match = new_match()
    match.start(0.0)
    tell, ask = match.handle(InvalidAnswer("A", 1, code, "It is wrong", {"field": "match_id"}), 1.5)
    assert (tell.side, tell.ask, tell.fault.code, tell.fault.detail) == ("A", 1, code, "It is wrong")
    assert (tell.fault.context, tell.fault.action_required) == ({"field": "match_id"}, "GAME_JOIN_ACK")
    assert (tell.fault.time_remaining, tell.fault.retryable, tell.fault.retry_count) == (3.5, True, 1)
    assert ask == Ask("A", 3, "join", None, 1.5, 5.0)


@pytest.mark.parametrize("now", [5.0, 5.03])
def test_a_wrong_answer_at_the_very_deadline_is_not_asked_for_again(now):
    match = new_match()
    match.start(0.0)
    (tell,) = match.handle(InvalidAnswer("A", 1, "E003", "It is wrong"), now)
    assert (tell.fault.time_remaining, tell.fault.retry_count, tell.fault.retryable) == (0.0, 0, False)
    *_, finish = match.handle(Joined("B", 2), now)
    assert finish.verdict.faults == {"A": "INVALID_ANSWER"}


def test_a_retry_after_silence_has_its_own_repeats():
    three_wrong_then_silent = first(3, answers_wrongly("E003"), first(4, is_silent, answers_wrongly("E015")))
    shell = Shell(new_match(), {"A": joins, "B": three_wrong_then_silent})
    shell.run()
    asks = [ask for ask in of(Ask, shell.effects) if ask.side == "B"]
    assert [ask.deadline for ask in asks] == [5.0] * 4 + [12.0] * (1 + MAX_REPEATS)
    assert (shell.verdict.ruling, shell.seen[-1][0]) == ("INVALID_ANSWER", 7.0 + 4 * SOON)


def test_each_call_has_repeats_of_its_own():
    wrong_first = first(3, answers_wrongly("E003"), joins), first(3, moves("Even"), moves("even"))
    shell = Shell(new_match(), both(wrong_first[0]), both(wrong_first[1]))
    shell.run()
    assert shell.verdict.status == "DRAW"
    assert [tell.fault.retry_count for tell in of(SendError, shell.effects) if tell.side == "A"] == [1, 2, 3] * 2


def test_after_the_fourth_wrong_answer_nothing_more_is_taken():
    match = new_match()
    (_, ask, _) = match.start(0.0)
    for _ in range(MAX_REPEATS):
        (_, ask) = match.handle(InvalidAnswer("A", ask.ask, "E003", "It is wrong"), 1.0)
    (told,) = match.handle(InvalidAnswer("A", ask.ask, "E003", "It is wrong"), 1.0)
    assert isinstance(told, SendError)
    assert (match.is_open(ask.ask), match.expected_from("A")) == (False, None)
    for old in (Joined("A", ask.ask), Joined("A", None), InvalidAnswer("A", ask.ask, "E003", "again")):
        assert match.handle(old, 2.0) == []
    # The other is still asked, and its own answer is judged.
    assert match.is_open(2)
    *_, finish = match.handle(Declined("B", 2), 3.0)
    assert finish.verdict.faults == {"A": "INVALID_ANSWER", "B": "REFUSED_INVITATION"}


# What players post by themselves (decision 32).


@pytest.mark.proves("001-L1661")
@pytest.mark.parametrize("habit", [is_silent, is_unreachable, answers_wrongly_after_a_while])
@pytest.mark.parametrize("at", [0.0625, 3.0])
def test_what_a_player_posts_by_itself_counts_while_it_is_asked(habit, at):
    match = new_match()
    shell = Shell(match, {"A": joins, "B": habit}, {"A": moves("odd"), "B": habit})
    shell.post(at, Joined("B", None))
    shell.post(at + 3.0, Moved("B", None, "even"))
    shell.run()
    assert (shell.verdict.status, shell.verdict.winner) == ("WIN", "B")
    assert shell.seen[-1][0] == at + 3.0


def test_a_post_between_two_tries_counts_and_closes_the_ask_that_was_to_come():
    match = new_match()
    match.start(0.0)
    match.handle(Joined("A", 1), 1.0)
    assert not match.is_open(1)
    assert match.is_open(2)
    _, ask = match.handle(NoAnswer("B", 2, "E001"), 5.0)
    assert ask.send_at == 7.0
    assert match.is_open(ask.ask)
    assert not match.is_open(2)
    assert match.expected_from("B") == "join"
    assert of(StageEntered, match.handle(Joined("B", None), 6.0)) == [StageEntered("COLLECTING_CHOICES")]
    assert not match.is_open(ask.ask)
    assert match.handle(NoAnswer("B", ask.ask, "E009"), 7.0) == []


def test_a_wrong_post_is_answered_and_changes_nothing_else():
    match = new_match()
    match.start(0.0)
    (tell,) = match.handle(InvalidAnswer("A", None, "E003", "It is wrong"), 1.0)
    assert (tell.side, tell.ask, tell.fault.code, tell.fault.time_remaining) == ("A", None, "E003", 4.0)
    assert match.is_open(1)
    for side in SIDES:
        match.handle(Joined(side, None), 2.0)
    (tell,) = match.handle(Moved("A", None, "Even"), 3.0)
    assert (tell.ask, tell.fault.code, tell.fault.retry_count) == (None, "E004", 0)
    assert match.expected_from("A") == "move"


def test_a_wrong_token_in_a_post_is_not_held_against_the_player():
    shell = Shell(new_match(), {"A": joins, "B": answers_wrongly("E003")})
    for at in (0.0625, 3.0):
        shell.post(at, InvalidAnswer("B", None, "E012", "The token is wrong"))
    shell.run()
    assert shell.verdict.ruling == "INVALID_ANSWER"
    assert {tell.fault.code for tell in of(SendError, shell.effects)} == {"E003"}


def test_what_a_post_would_be_for_depends_on_where_the_player_is():
    match = new_match()
    assert match.expected_from("A") is None
    match.start(0.0)
    assert [match.expected_from(side) for side in SIDES] == ["join", "join"]
    match.handle(Joined("A", 1), 1.0)
    assert [match.expected_from(side) for side in SIDES] == [None, "join"]
    match.handle(Joined("B", 2), 1.0)
    assert [match.expected_from(side) for side in SIDES] == ["move", "move"]
    match.handle(Moved("B", 4, "odd"), 2.0)
    assert [match.expected_from(side) for side in SIDES] == ["move", None]
    match.handle(Moved("A", 3, "odd"), 2.0)
    assert [match.expected_from(side) for side in SIDES] == [None, None]


def test_a_side_that_lost_by_time_says_after_how_many_retries():
    shell = Shell(new_match(), {"A": is_unreachable, "B": is_silent})
    shell.run(until=7.0)
    assert [shell.match.timed_out(side) for side in SIDES] == [None, None]
    shell.run()
    assert [shell.match.timed_out(side) for side in SIDES] == [None, 3]


# Late, twice, or old.


def test_answers_that_come_twice_change_nothing():
    match = new_match()
    match.start(0.0)
    match.handle(Joined("A", 1), 1.0)
    for again in (Joined("A", 1), Joined("A", None), Declined("A", 1), Declined("A", None)):
        assert match.handle(again, 1.5) == []
    assert of(StageEntered, match.handle(Joined("B", 2), 2.0)) == [StageEntered("COLLECTING_CHOICES")]
    for again in (Joined("A", None), Declined("A", None), Declined("B", 2)):
        assert match.handle(again, 2.5) == []
    assert match.handle(Moved("A", 3, "even"), 3.0) == []
    assert match.handle(Moved("A", 3, "odd"), 3.5) == []
    assert match.handle(Moved("A", None, "odd"), 3.5) == []
    *_, finish = match.handle(Moved("B", 4, "odd"), 4.0)
    # The first valid answer counted, and an accepted invitation stayed accepted.
    assert finish.verdict.choices == {"A": "even", "B": "odd"}


def test_a_refusal_stands_whatever_is_said_after_it():
    match = new_match()
    match.start(0.0)
    assert match.handle(Declined("A", 1), 1.0) == []
    assert match.handle(Joined("A", None), 1.5) == []
    *_, finish = match.handle(Joined("B", 2), 2.0)
    assert finish.verdict.faults == {"A": "REFUSED_INVITATION"}


@pytest.mark.parametrize(
    "old",
    [
        Joined("A", 1),
        Declined("A", 1),
        InvalidAnswer("A", 1, "E003", "old"),
        NoAnswer("A", 1, "E001"),
        RefereeLate("A", 1, 900.0),
    ],
)
def test_what_comes_of_an_old_ask_changes_nothing(old):
    match = new_match()
    match.start(0.0)
    match.handle(NoAnswer("A", 1, "E001"), 5.0)
    assert match.handle(old, 5.5) == []
    assert match.is_open(3)


@pytest.mark.parametrize("given", [Moved("A", 1, "even"), Moved("A", None, "even")])
def test_what_does_not_belong_to_an_invitation_changes_nothing(given):
    match = new_match()
    match.start(0.0)
    assert match.handle(given, 1.0) == []
    assert match.expected_from("A") == "join"


def test_nothing_happens_before_the_start():
    match = new_match()
    assert match.handle(Joined("A", None), 0.0) == []
    assert len(match.start(0.0)) == 3


def every_input(asks: Iterator[int | None]) -> list[Any]:
    return [
        given
        for side, ask in itertools.product(SIDES, asks)
        for given in (
            *(Joined(side, ask), Declined(side, ask), Moved(side, ask, "even"), InvalidAnswer(side, ask, "E003", "x")),
            *(NoAnswer(side, ask, "E001"), RefereeLate(side, ask, 1.0)),
        )
    ]


@pytest.mark.parametrize("ends", [both(moves("even")), both(is_silent), {"A": moves("odd"), "B": moves(1)}])
def test_nothing_happens_after_the_end(ends):
    shell = Shell(new_match(), both(joins), ends)
    shell.run()
    for late in every_input([None, *range(20)]):
        assert shell.match.handle(late, 500.0) == []
    assert not any(shell.match.is_open(ask) for ask in range(20))


def test_the_table_in_the_docstring_is_the_table_in_the_code():
    heading, *rows = [line for line in machine.__doc__.splitlines() if line.startswith("    ")]
    columns = {name: heading.index(name) for name in heading.split()}
    ends = dict(zip(columns, [*list(columns.values())[1:], None], strict=True))
    said = {
        (row.split()[0], name): cell
        for row in rows
        for name, start in columns.items()
        if (cell := row[start : ends[name]].strip())
    }
    assert [row.split()[0] for row in rows] == [*get_args(Phase)]
    assert said == {
        (phase, given.__name__): handler.__name__.strip("_").replace("_", " ")
        for (phase, given), handler in Match._TABLE.items()
    }


# Turns.


def test_in_a_game_of_turns_only_the_side_to_move_is_asked():
    x_wins = {"A": plays([0, 1, 2]), "B": plays([3, 4])}
    shell = Shell(new_match(GAMES["tic_tac_toe"]), both(joins), x_wins)
    shell.run()
    calls = [ask for ask in of(Ask, shell.effects) if ask.what == "move"]
    assert [ask.side for ask in calls] == ["A", "B", "A", "B", "A"]
    assert [ask.send_at for ask in calls] == [SOON * (1 + number) for number in range(5)]
    assert calls[1].question.context["board"] == "X........"
    assert [entered.stage for entered in of(StageEntered, shell.effects)] == [
        *("WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED")
    ]
    assert (shell.verdict.status, shell.verdict.winner, shell.verdict.drawn) == ("WIN", "A", None)
    assert shell.verdict.choices == {"A": "0,1,2", "B": "3,4"}


@pytest.mark.proves("003-L0030")
@pytest.mark.parametrize("turn", range(4))
@pytest.mark.parametrize(
    ("habit", "ruling", "takes"),
    [
        (is_silent, "CHOICE_TIMEOUT", 126.0),
        (is_unreachable, "UNREACHABLE", 6.5),
        (moves(9), "INVALID_ANSWER", 0.5),
        (answers_wrongly("E012"), "WRONG_TOKEN", 0.5),
    ],
)
def test_a_side_that_fails_at_its_turn_loses_without_waiting_for_the_other(turn, habit, ruling, takes):
    loser = SIDES[turn % 2]
    moving = {"A": plays([0, 1, 2]), "B": plays([3, 4])}
    moving[loser] = first(turn // 2, moving[loser], habit)
    shell = Shell(new_match(GAMES["tic_tac_toe"]), both(joins), moving)
    shell.run()
    assert (shell.verdict.ruling, shell.verdict.faults) == (ruling, {loser: ruling})
    assert shell.verdict.score == {loser: 0, other(loser): 3}
    assert shell.seen[-1][0] == SOON * (1 + turn) + takes


def test_a_player_whose_turn_it_is_not_cannot_move():
    match = new_match(GAMES["tic_tac_toe"])
    match.start(0.0)
    match.handle(Joined("A", 1), 1.0)
    match.handle(Joined("B", 2), 1.0)
    assert match.expected_from("B") is None
    assert match.handle(Moved("B", None, 0), 2.0) == []


# Void.


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("what", ["join", "move"])
def test_a_referee_that_is_itself_late_rules_nothing_and_says_so(what, side):
    late: Habit = lambda ask, count: (ask.deadline, RefereeLate(ask.side, ask.ask, 350.4))  # noqa: E731
    joining, moving = both(joins), both(moves("even"))
    (joining if what == "join" else moving)[side] = late
    shell = Shell(new_match(), joining, moving)
    shell.run()
    void = shell.effects[-1]
    assert isinstance(void, Void)
    assert not of(Finish, shell.effects)
    assert void.reason == f"the referee was itself too late to judge {PLAYERS[side]}: 350 ms"
    event = void.evidence["players"][PLAYERS[side]]["events"][-1]
    assert (event["what"], event["late_ms"]) == ("late", 350)
    assert shell.match.expected_from(side) is None
    assert shell.match.handle(Joined(side, None), 200.0) == []


def test_lateness_that_concerns_nobody_any_more_voids_nothing():
    match = new_match()
    match.start(0.0)
    match.handle(Joined("A", None), 1.0)
    assert match.handle(RefereeLate("A", 1, 5000.0), 5.0) == []


# Evidence.


def test_the_evidence_shows_what_each_did_and_when_and_how_late_we_noticed():
    match = new_match(max_retries=1)
    match.start(100.0)
    match.handle(Joined("A", None), 100.5)
    match.handle(NoAnswer("B", 2, "E001"), 105.02)
    match.handle(InvalidAnswer("B", None, "E003", "no"), 106.0)
    *_, finish = match.handle(NoAnswer("B", 3, "E009", connected=False), 107.5)
    assert finish.verdict.evidence == {
        "stage": "WAITING_FOR_PLAYERS",
        "players": {
            "P01": {
                "phase": "JOINED",
                "answered": True,
                "failures": 0,
                "refused_posts": 0,
                "last_wrong": None,
                "events": [{"at": 0.5, "what": "joined"}],
            },
            "P02": {
                "phase": "OUT",
                "answered": False,
                "connected": False,
                "failures": 2,
                "refused_posts": 1,
                "last_wrong": None,
                "events": [
                    {"at": 5.02, "what": "E001", "ask": 2, "asked_at": 0.0, "late_ms": 20},
                    {"at": 7.5, "what": "E009", "ask": 3, "asked_at": 7.02},
                ],
            },
        },
    }


def test_the_evidence_shows_whether_the_referee_could_connect_to_the_opponent_of_a_silent_player():
    match = new_match(max_retries=3)
    match.start(0.0)
    match.handle(Joined("A", None), 0.5)

    def connected(opponent_connected: bool | None) -> list[bool]:
        given = NoAnswer("B", match._asks, "E009", connected=False, opponent_connected=opponent_connected)
        *_, last = match.handle(given, 1.0)
        found = last.verdict.evidence if isinstance(last, Finish) else match._evidence()()
        return [found["players"][player].get("connected", True) for player in ("P01", "P02")]

    assert connected(None) == [True, False]
    assert connected(False) == [False, False]
    assert connected(None) == [False, False]
    assert connected(True) == [True, False]


def test_failures_are_counted_in_a_row_and_end_with_any_answer():
    failing = first(2, is_silent, first(3, answers_wrongly("E003"), is_silent))
    shell = Shell(new_match(), {"A": joins, "B": failing})
    shell.run()
    told = shell.verdict.evidence["players"]["P02"]
    assert (told["failures"], told["answered"]) == (2, True)


def test_evidence_stays_small_however_long_a_match_and_however_wild_its_answers():
    def wild(ask: Ask, count: int) -> tuple[float, Any]:
        """A turn takes four tries of three wrong answers each, then silence, and a move only in the last."""
        turn, number = divmod(count, 16)
        if number % 4 < 3:
            return ask.send_at + SOON, InvalidAnswer(ask.side, ask.ask, "E003", "\0" * 9_000)
        return is_silent(ask, count) if number < 15 else plays([0, 1, 2] if ask.side == "A" else [3, 4])(ask, turn)

    shell = Shell(new_match(GAMES["tic_tac_toe"]), both(joins), both(wild))
    for _ in range(100):
        shell.post(1.0, Moved("A", None, "x" * 9_000))
    shell.run()
    assert (shell.verdict.status, shell.counts["move", "A"]) == ("WIN", 48)
    told = shell.verdict.evidence["players"]["P01"]
    assert (len(told["events"]), told["refused_posts"], told["last_wrong"]) == (MAX_EVENTS, 100, "\0" * 100)
    assert told["events"][-1]["what"] == "moved"
    assert len(msgspec.json.encode(shell.verdict.evidence)) < 6_000


# Whatever comes in whatever order.

SIDE = st.sampled_from(SIDES)
GAMES_TO_TRY = [Secret(), EVEN_ODD, GAMES["rock_paper_scissors"], GAMES["tic_tac_toe"]]
MOVES = [*("even", "odd", "Even", "rock", "paper", "stone"), *range(10), None]


@st.composite
def inputs(draw: st.DrawFn) -> tuple[str, str, int | None, Any]:
    kind = draw(st.sampled_from(["right"] * 6 + ["move", "declined", "wrong", "failed", "late"]))
    # Which of the asks so far: counted from the last, one that never was, or none.
    ask = draw(st.sampled_from([None, -1, -1, -2, -3, -4, 99]))
    return kind, draw(SIDE), ask, draw(st.sampled_from([*MOVES, "E003", "E012", "E001", "E009"]))


def secret_word(side: str) -> str:
    return f"{side}-hushhush"


class Watcher:
    """Feeds a match and holds it to what must always be true."""

    def __init__(self, match: Match) -> None:
        self.match = match
        self.now = 0.0
        self.effects: list[Any] = []
        self.asks: list[int] = []
        self.ended = False
        self.take(match.start(0.0))

    def give(self, given: Any) -> None:
        self.now += 0.5
        self.take(self.match.handle(given, self.now))

    def take(self, effects: list[Any]) -> None:
        assert not (self.ended and effects), "something came after the end"
        for effect in effects:
            assert not self.ended, "the end was not the last effect"
            self.effects.append(effect)
            self.ended = isinstance(effect, Finish | Void)
            if isinstance(effect, Ask):
                assert effect.send_at >= self.now
                assert effect.deadline > effect.send_at
                self.asks.append(effect.ask)
                assert self.match.stage == {"join": "WAITING_FOR_PLAYERS", "move": "COLLECTING_CHOICES"}[effect.what]
            if isinstance(effect, Ask | SendError):
                assert secret_word(other(effect.side)) not in repr(effect), "a choice was shown to the other side"
            elif isinstance(effect, StageEntered):
                assert "hush" not in repr(effect)

    def drain(self) -> None:
        """Every ask that is left fails: as a shell does when the players are gone."""
        for effect in self.effects:  # grows while it is read
            if isinstance(effect, Ask):
                self.give(NoAnswer(effect.side, effect.ask, "E001"))


def as_input(game: Game[Any], made: tuple[str, str, int | None, Any], asks: list[int], wanted: str | None) -> Any:
    kind, side, back, value = made
    ask = None if back is None else asks[back] if back < 0 and -back <= len(asks) else 99_999
    if kind == "right":
        move = secret_word(side) if isinstance(game, Secret) else value
        return Joined(side, ask) if wanted == "join" else Moved(side, ask, move)
    number = ask or 0
    return {
        "move": Moved(side, ask, value),
        "declined": Declined(side, ask),
        "wrong": InvalidAnswer(side, ask, value if value in ("E003", "E012") else "E015", "It is wrong"),
        "failed": NoAnswer(side, number, "E009" if value == "E009" else "E001"),
        "late": RefereeLate(side, number, 100.0),
    }[kind]


@pytest.mark.proves("001-L1186", "001-L1666", "003-L0265")
@given(
    st.sampled_from(GAMES_TO_TRY),
    st.sampled_from(["", "A", "AB"]),
    st.lists(inputs(), max_size=60),
    st.integers(0, 3),
)
def test_whatever_comes_in_whatever_order_the_match_ends_once_and_hides_the_choices(game, suspended, made, retries):
    watcher = Watcher(new_match(game, suspended=suspended, max_retries=retries))
    for one in made:
        watcher.give(as_input(game, one, watcher.asks, watcher.match.expected_from(one[1])))
    watcher.drain()
    assert watcher.ended
    assert len(of(Finish, watcher.effects)) + len(of(Void, watcher.effects)) == 1
    stages = [entered.stage for entered in of(StageEntered, watcher.effects)]
    assert stages == sorted(
        set(stages), key=["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"].index
    )
    assert len(watcher.asks) == len(set(watcher.asks))
    turns = 9 if game.name == "tic_tac_toe" else 2
    assert len(watcher.asks) <= (1 + retries) * (1 + MAX_REPEATS) * (2 + turns)
    for finish in of(Finish, watcher.effects):
        verdict = finish.verdict
        assert sum(verdict.score.values()) in (0, 2, 3)
        assert (verdict.status == "TECHNICAL_LOSS") == bool(verdict.faults)
        assert (verdict.winner is None) == (verdict.score["A"] == verdict.score["B"])
        assert msgspec.json.decode(msgspec.json.encode(verdict))["ruling"] == verdict.ruling


@given(st.sampled_from(GAMES_TO_TRY), st.lists(inputs(), max_size=40))
def test_the_same_inputs_make_the_same_match(game, made):
    def effects() -> list[Any]:
        watcher = Watcher(new_match(game))
        for one in made:
            watcher.give(as_input(game, one, watcher.asks, watcher.match.expected_from(one[1])))
        return watcher.effects

    assert effects() == effects()


@given(st.lists(inputs(), max_size=40))
def test_what_one_side_chooses_changes_nothing_that_the_other_sees_before_the_end(made):
    def shown_to_b(word: str) -> list[Any]:
        watcher = Watcher(new_match(Secret()))
        for side in SIDES:
            watcher.give(Joined(side, None))
        watcher.give(Moved("A", None, word))
        for one in made:
            if one[1] == "B":
                watcher.give(as_input(Secret(), one, watcher.asks, watcher.match.expected_from("B")))
        return [effect for effect in watcher.effects if getattr(effect, "side", None) == "B"]

    assert shown_to_b("A-x") == shown_to_b("A-hushhush")


@pytest.mark.parametrize(("origin", "counts"), [("replaced", {"P01": "1 replaced, 1 illegal at first"}), ("own", {})])
def test_a_player_without_a_move_of_its_own_is_counted_once_when_that_loses_the_match(
    origin: Origin, counts: dict[str, str]
) -> None:
    match = new_match(drawn=8)
    match.start(0.0)
    match.handle(Joined("A", 1), 1.0)
    match.handle(Joined("B", 2), 1.0)
    ask = 3
    while match.is_open(ask):
        effects = match.handle(Moved("A", ask, None, MoveInfo(origin=origin, illegal=1)), 2.0)
        ask = next((effect.ask for effect in effects if isinstance(effect, Ask)), ask)
    assert {name: str(one) for name, one in match.origins.items()} == counts


def test_where_moves_came_from_is_counted_for_moves_that_count_and_only_if_it_is_stated() -> None:
    match = new_match(drawn=8)
    match.start(0.0)
    match.handle(Joined("A", 1), 1.0)
    match.handle(Joined("B", 2), 1.0)
    assert match.origins == {}
    stated = MoveInfo(origin="replaced", reason="down")
    # A wrong move is asked for again.
    _, again = match.handle(Moved("A", 3, "EVEN", stated), 2.0)
    assert match.origins == {}
    match.handle(Moved("A", again.ask, "even", stated), 2.0)
    assert {name: str(one) for name, one in match.origins.items()} == {"P01": "1 replaced (the first because down)"}
    *_, finish = match.handle(Moved("B", 4, "odd", MoveInfo(reason="no origin")), 3.0)
    assert isinstance(finish, Finish)
    assert [*match.origins] == ["P01"]


def test_chance_is_asked_like_a_side_and_answered_by_the_caller() -> None:
    seats = {side: Seat(PLAYERS[side]) for side in SIDES}
    match = Match(EVEN_ODD, "R1M1", seats, Limits())
    match.start(0.0)
    # Before the match has begun nothing is asked of chance.
    assert match.handle(Rolled(0, 8), 0.5) == []
    match.handle(Joined("A", 1), 1.0)
    assert match.handle(Joined("B", 2), 1.0) == [
        StageEntered("COLLECTING_CHOICES"),
        Roll(0, EVEN_ODD.start()),
    ]
    # Until it is answered, no side can move; and only the answer to this step counts.
    assert [match.expected_from(side) for side in SIDES] == [None, None]
    assert match.handle(Rolled(1, 8), 1.0) == []
    asks = match.handle(Rolled(0, 8), 1.0)
    assert [(ask.side, ask.what) for ask in asks] == [("A", "move"), ("B", "move")]
    assert match.handle(Rolled(0, 9), 1.0) == []
    match.handle(Moved("A", 3, "even"), 2.0)
    *_, finish = match.handle(Moved("B", 4, "odd"), 2.0)
    assert finish.verdict.drawn == 8
    assert match.record == [{"chance": 8}, {"A": "even", "B": "odd"}]
    assert replay(EVEN_ODD, match.record).winner == "A" == finish.verdict.winner
