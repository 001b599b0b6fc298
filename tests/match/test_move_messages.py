"""The two pairs of messages by which a game is played."""

from __future__ import annotations

import msgspec
import pytest

from leaguekit.games import GAMES
from leaguekit.games.base import Game, Knowledge, Question
from leaguekit.match.move_messages import (
    MOVE_MESSAGES,
    make_call,
    make_response,
    messages_of,
    move_of,
    number_fields,
    question_of,
)
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import CATALOGUE
from tests.chance import begin
from tests.samples import samples_of


def test_only_even_odd_has_the_messages_of_the_documents():
    calls = {name: messages_of(game).call for name, game in GAMES.items()}
    assert calls.pop("even_odd") is m.ChooseParityCall
    assert set(calls.values()) == {m.GameMoveCall}


def test_the_call_of_the_documents_does_not_contain_its_question():
    question = question_of(samples_of("CHOOSE_PARITY_CALL")[0])
    assert (question.move_type, question.valid_options, question.context) == ("choose_parity", ["even", "odd"], {})
    assert question_of(samples_of("GAME_MOVE_CALL")[0]).valid_options == [0, 4, 8]


@pytest.mark.parametrize("name", GAMES)
def test_a_call_asks_what_the_game_asks(name):
    game = GAMES[name]
    kind = messages_of(game).call
    sample = msgspec.structs.asdict(samples_of(m.message_type(kind))[0])
    sample.pop("move_request", None)
    position = begin(game)
    asked: Question = game.question(position, "A")
    call = make_call(game, asked, sample)
    assert type(call) is kind
    assert (question_of(call).move_type, question_of(call).valid_options) == asked[:2]


def test_a_call_says_how_many_moves_it_does_not_list():
    game = GAMES["tic_tac_toe"]
    sample = msgspec.structs.asdict(samples_of("GAME_MOVE_CALL")[0])
    sample.pop("move_request")
    whole = msgspec.to_builtins(make_call(game, Question("bid", [1, 2], {}), sample))["move_request"]
    assert whole == {"move_type": "bid", "valid_options": [1, 2], "context": {}}
    some = msgspec.to_builtins(make_call(game, Question("bid", [1, 2], {}, 900, "a number to 900"), sample))
    assert some["move_request"] == whole | {"total_options": 900, "syntax": "a number to 900"}


@pytest.mark.parametrize("messages", MOVE_MESSAGES)
def test_a_response_contains_the_move(messages):
    call = samples_of(m.message_type(messages.call))[0]
    fields = msgspec.structs.asdict(samples_of(m.message_type(messages.response))[0])
    response = make_response(call, "odd", {name: value for name, value in fields.items() if name != messages.field})
    assert (type(response), move_of(response)) == (messages.response, "odd")
    assert msgspec.to_builtins(response)[messages.field] == "odd"
    assert messages.error_code in CATALOGUE


def test_the_parity_of_the_number_is_told_with_it():
    assert number_fields(7) == {"drawn_number": 7, "number_parity": "odd"}
    assert number_fields(8) == {"drawn_number": 8, "number_parity": "even"}
    assert number_fields(None) == {"drawn_number": None, "number_parity": None}


def test_a_game_need_not_judge_moves():
    assert Game.move_rater(GAMES["even_odd"], Knowledge({}, list, list)) is None
