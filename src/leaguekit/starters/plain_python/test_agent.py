"""Tests of the strategy and the agent, without a network. Run them with ``python -m unittest``.

They pass with every strategy that plays by the rules.
"""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import agent as plain

# A question of each game: the legal moves, and the position.
QUESTIONS: dict[str, tuple[list[Any], plain.Json]] = {
    "even_odd": (["even", "odd"], {}),
    "rock_paper_scissors": (["rock", "paper", "scissors"], {"choices": {"A": None, "B": None}}),
    "tic_tac_toe": ([1, 2, 3, 5, 6, 7, 8], {"board": "X...O....", "moves": [0, 4], "your_mark": "X"}),
    "connect_four": ([1, 2, 3, 4, 5, 6, 7], {"board": [*["......."] * 5, "...R..."], "your_disc": "Y"}),
    "prisoners_dilemma": (["C", "D"], {"turns": 50, "played": 2, "you": "CC", "opponent": "CD"}),
}


class TestStrategy(unittest.TestCase):
    def test_it_makes_a_legal_move_in_every_game(self) -> None:
        for game, (options, view) in QUESTIONS.items():
            before = {"game_type": game, "opponent_id": "P02", "status": "WIN", "result": "WIN", "drawn_number": None}
            match = before | {"choice": str(options[0]), "opponent_choice": str(options[1])}
            for history in ([], [match]):
                move = plain.choose(game, [*options], view, history, "P02")
                assert move in options, f"{game}: choose returned {move!r}, which is none of {options}"


class TestAgent(unittest.TestCase):
    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = Path(folder.name, "state.json")
        self.agent = plain.Agent("http://127.0.0.1:8000/mcp", "http://127.0.0.1:8101/mcp", file)
        self.agent.me |= {"player_id": "P01", "league_id": "spring_cup"}
        self.agent.registered.set()

    def call(self, method: str, kind: str, **fields: Any) -> Any:
        envelope = {"protocol": "league.v2", "message_type": kind, "sender": "referee:REF01"}
        envelope |= {"timestamp": "2026-03-14T09:01:00Z", "conversation_id": "conv-r1m1-001", "match_id": "R1M1"}
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": envelope | fields}
        return json.loads(self.agent.answer(json.dumps(body).encode()) or b"null")

    def test_a_choice_is_made_in_time_and_legal(self) -> None:
        call = {"player_id": "P01", "game_type": "even_odd", "deadline": "2026-03-14T09:01:30Z"}
        answer = self.call("parity_choose", "CHOOSE_PARITY_CALL", **call)
        assert answer["result"]["message_type"] == "CHOOSE_PARITY_RESPONSE"
        assert answer["result"]["parity_choice"] in ("even", "odd")
        assert answer["result"]["move_info"] == {"origin": "own"}

    def test_what_is_wrong_is_refused_as_json_rpc_says(self) -> None:
        assert self.call("make_coffee", "COFFEE")["error"]["code"] == -32601
        assert self.call("parity_choose", "CHOOSE_PARITY_CALL")["error"]["code"] == -32602
        assert json.loads(self.agent.answer(b"{") or b"null")["error"]["code"] == -32700


if __name__ == "__main__":
    unittest.main()
