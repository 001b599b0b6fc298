"""Bad players: each registers as it should, and then does what somebody's agent will do one day.

A kind is one function, what it does with a call; everything else it does properly. They speak league.v2 by hand, so
that none of our own code keeps them from being wrong. ``ZOO`` says of each kind how its matches are ruled.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from leaguekit.games import GAMES
from leaguekit.match.move_messages import messages_of
from leaguekit.transport.base import Caller, Peer

Json = dict[str, Any]

INVITATION = ("GAME_INVITATION",)
CALL = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
MATCH = INVITATION + CALL
BROADCAST = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED")
NEWS = ("GAME_OVER", "GAME_ERROR")

SPECIFIED_ANSWERS = {
    "GAME_INVITATION": "GAME_JOIN_ACK",
    "CHOOSE_PARITY_CALL": "CHOOSE_PARITY_RESPONSE",
    "GAME_MOVE_CALL": "GAME_MOVE_RESPONSE",
    "LEAGUE_STANDINGS_UPDATE": "STANDINGS_UPDATE_ACK",
}
FIVE_MEGABYTES = b'{"jsonrpc":"2.0","id":1,"result":"%b"}' % (b"x" * 5 * 1024 * 1024)


class Envelope(dict[str, Any]):
    """An answer whose JSON-RPC members are given too, not only its result."""


# What a player answers a message with: a result, a whole JSON-RPC answer, a whole body, or nothing.
Answer = Json | Envelope | bytes | None
Kind = Callable[["BadPlayer", Json], Awaitable[Answer]]


class BadPlayer:
    """One player of a kind. Serve ``handle``, then ``register``; ``leave`` is how it stops listening."""

    def __init__(self, kind: Kind, caller: Caller, url: str, manager_url: str, leave: Callable[[], None]) -> None:
        self.leave = leave
        self.player_id = ""
        # The real token of another player, for a player that would use one.
        self.stolen = ""
        self.tries = 0
        self.heard: list[Json] = []
        # What it was answered to the messages that it posted by itself.
        self.told: list[Json] = []
        self._kind = kind
        self._caller = caller
        self._url = url
        self._manager_url = manager_url
        self._token = ""
        self._referees: dict[str, str] = {}
        self._posting: set[asyncio.Task[None]] = set()

    async def register(self, name: str) -> None:
        meta = {
            "display_name": name,
            "version": "1.0.0",
            "game_types": [*GAMES],
            "contact_endpoint": self._url,
        }
        request = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "sender": f"player:{name}",
            "timestamp": "2026-01-01T00:00:00Z",
            "conversation_id": f"conv-register-{name}",
            "player_meta": meta,
        }
        answer = await self._call(self._manager_url, "register_player", request)
        self.player_id, self._token = answer["result"]["player_id"], answer["result"]["auth_token"]

    async def handle(self, body: bytes, _peer: Peer) -> bytes | None:
        request = json.loads(body)
        if request["method"] == "ping":
            return json.dumps({"jsonrpc": "2.0", "result": {}, "id": request["id"]}).encode()
        call = request["params"]
        self.heard.append(call)
        if call["message_type"] == "ROUND_ANNOUNCEMENT":
            self._referees |= {match["match_id"]: match["referee_endpoint"] for match in call["matches"]}
        answer = await self._kind(self, call)
        if isinstance(answer, Envelope):
            return json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}).encode()
        if isinstance(answer, dict):
            return json.dumps({"jsonrpc": "2.0", "result": answer, "id": request["id"]}).encode()
        return answer

    def proper(self, call: Json) -> Json:
        """The answer that a good player gives."""
        kind = call["message_type"]
        answer = {
            "protocol": "league.v2",
            "message_type": SPECIFIED_ANSWERS.get(kind, f"{kind}_ACK"),
            "sender": f"player:{self.player_id}",
            "timestamp": call["timestamp"],
            "conversation_id": call["conversation_id"],
            "auth_token": self._token,
            "player_id": self.player_id,
        } | {name: call[name] for name in ("match_id", "round_id") if name in call}
        if kind in INVITATION:
            return answer | {"arrival_timestamp": call["timestamp"], "accept": True}
        if kind in CALL:
            return answer | {choice_field(call): options(call)[0]}
        return answer | {"status": "ACKNOWLEDGED"}

    async def post(self, message: Json, *, after: float = 0.0) -> None:
        """Post a message to the match's referee by itself, instead of answering or besides."""
        await asyncio.sleep(after)
        url = self._referees[message["match_id"]]
        self.told.append(await self._call(url, message["message_type"].lower(), message))

    async def report(self, message: Json) -> None:
        """Report a match to the manager, as only referees do."""
        self.told.append(await self._call(self._manager_url, "report_match_result", message))

    def post_later(self, message: Json, seconds: float) -> None:
        task = asyncio.create_task(self.post(message, after=seconds))
        self._posting.add(task)
        task.add_done_callback(self._posting.discard)

    async def _call(self, url: str, method: str, params: Json) -> Json:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 1}).encode()
        answer: Json = json.loads((await self._caller.post(url, body, 10.0)).body)
        return answer


def choice_field(call: Json) -> str:
    return "parity_choice" if call["message_type"] == "CHOOSE_PARITY_CALL" else "move_data"


def options(call: Json) -> list[Any]:
    """What may be chosen."""
    return ["even", "odd"] if "move_request" not in call else [*call["move_request"]["valid_options"]]


# What kinds are made of


async def properly(player: BadPlayer, call: Json) -> Answer:
    """As a good player would."""
    return player.proper(call)


async def never(player: BadPlayer, call: Json) -> Answer:
    """Does not answer."""
    await asyncio.Event().wait()
    raise AssertionError


def at(messages: tuple[str, ...], kind: Kind) -> Kind:
    """Behaves so at these messages only."""

    async def at_those(player: BadPlayer, call: Json) -> Answer:
        return await (kind if call["message_type"] in messages else properly)(player, call)

    return at_those


def after(seconds: float) -> Kind:
    async def late(player: BadPlayer, call: Json) -> Answer:
        await asyncio.sleep(seconds)
        return player.proper(call)

    return late


def with_fields(**changes: Any) -> Kind:
    """A good answer but for some fields: another value, what a function of player and call gives, or ... for none."""

    async def changed(player: BadPlayer, call: Json) -> Answer:
        made = {name: value(player, call) if callable(value) else value for name, value in changes.items()}
        return {name: value for name, value in (player.proper(call) | made).items() if value is not ...}

    return changed


def choosing(choose: Callable[[list[Any]], Any]) -> Kind:
    """Joins, and answers calls with this choice, a function of what may be chosen; ... leaves it out."""

    async def chosen(player: BadPlayer, call: Json) -> Answer:
        answer = player.proper(call) | {choice_field(call): choose(options(call))}
        return {name: value for name, value in answer.items() if value is not ...}

    return at(CALL, chosen)


def saying(body: bytes | None) -> Kind:
    """Answers with this body."""

    async def said(player: BadPlayer, call: Json) -> Answer:
        return body

    return said


def at_the_third_try(kind: Kind) -> Kind:
    """Behaves so twice, and then properly, again and again."""

    async def third_time_lucky(player: BadPlayer, call: Json) -> Answer:
        player.tries = (player.tries + 1) % 3
        return await (kind if player.tries else properly)(player, call)

    return third_time_lucky


# Kinds with a story


async def back_after_its_suspension(player: BadPlayer, call: Json) -> Answer:
    """Does not answer, until it is invited for the fifth time: the first time after its suspension."""
    invitations = [one for one in player.heard if one["message_type"] in INVITATION]
    return await (never if len(invitations) < 5 else properly)(player, call)


async def answers_its_fifth_call_only(player: BadPlayer, call: Json) -> Answer:
    """Does not answer calls for a move but the fifth, which is the only one of its second match."""
    calls = [one for one in player.heard if one["message_type"] in CALL]
    return await (properly if len(calls) == 5 else never)(player, call)


async def leaves_at_the_first_message(player: BadPlayer, call: Json) -> Answer:
    """Has gone when the league begins; not even the first announcement is answered."""
    player.leave()
    raise asyncio.CancelledError


async def leaves(player: BadPlayer, call: Json) -> Answer:
    """Answers this once, and is gone."""
    player.leave()
    return player.proper(call)


async def hangs_up(player: BadPlayer, call: Json) -> Answer:
    """Ends the connection without an answer."""
    raise asyncio.CancelledError


async def breaks_down(player: BadPlayer, call: Json) -> Answer:
    """Has a fault in its program: a server makes an HTTP 500 of it."""
    raise ZeroDivisionError("this player's strategy is broken")


async def refuses_by_json_rpc(player: BadPlayer, call: Json) -> Answer:
    return Envelope(error={"code": -32601, "message": "Method not found"})


async def mixes_up_ids(player: BadPlayer, call: Json) -> Answer:
    return Envelope(result=player.proper(call), id=987_654_321)


async def answers_in_a_batch(player: BadPlayer, call: Json) -> Answer:
    return json.dumps([{"jsonrpc": "2.0", "result": player.proper(call), "id": 1}]).encode()


async def answers_twice(player: BadPlayer, call: Json) -> Answer:
    """Posts its answer by itself, and gives it as well."""
    await player.post(player.proper(call))
    return player.proper(call)


async def changes_its_mind(player: BadPlayer, call: Json) -> Answer:
    """Posts another choice after its first."""
    player.post_later(player.proper(call) | {choice_field(call): options(call)[-1]}, 0.1)
    return player.proper(call)


async def declines_after_accepting(player: BadPlayer, call: Json) -> Answer:
    player.post_later(player.proper(call) | {"accept": False}, 0.1)
    return player.proper(call)


async def posts_before_its_last_answer(player: BadPlayer, call: Json) -> Answer:
    """Answers wrongly as often as it is asked, and posts what is right before the last of these answers."""
    player.tries = (player.tries + 1) % 4
    if player.tries == 0:
        await player.post(player.proper(call))
    return player.proper(call) | {choice_field(call): "maybe"}


async def posts_between_two_tries(player: BadPlayer, call: Json) -> Answer:
    """Never answers, but posts its choice half a second after the limit, when the next try has not come yet."""
    player.post_later(player.proper(call), 30.5)
    return await never(player, call)


async def posts_after_its_loss(player: BadPlayer, call: Json) -> Answer:
    """Never chooses, and posts its choice when the match is over."""
    if call["message_type"] == "GAME_OVER":
        asked = [one for one in player.heard if one["message_type"] in CALL]
        await player.post(player.proper(asked[-1]))
        return player.proper(call)
    return await never(player, call)


async def reports_its_own_victory(player: BadPlayer, call: Json) -> Answer:
    """Tells the manager that it has won, as itself and as its referee, with whatever token it has."""
    own, opponent = player.player_id, call["opponent_id"]
    result = {"winner": own, "score": {own: 3, opponent: 0}, "details": {"drawn_number": 2, "choices": {}}}
    of_match = {name: call[name] for name in ("league_id", "round_id", "match_id", "game_type", "attempt")}
    report = player.proper(call) | of_match | {"message_type": "MATCH_RESULT_REPORT", "result": result}
    for sender in (report["sender"], call["sender"]):
        for token in (report["auth_token"], call["auth_token"]):
            await player.report(report | {"sender": sender, "auth_token": token})
    return player.proper(call)


async def floods_the_referee(player: BadPlayer, call: Json) -> Answer:
    for _ in range(20):
        await player.post(player.proper(call) | {choice_field(call): "maybe"})
    return player.proper(call)


async def chooses_for_its_opponent(player: BadPlayer, call: Json) -> Answer:
    """Posts a choice in the other's name, with its own token and with the one that the referee shows it."""
    opponent = call["context"]["opponent_id"]
    forged = player.proper(call) | {"player_id": opponent, "sender": f"player:{opponent}"}
    await player.post(forged)
    await player.post(forged | {"auth_token": call["auth_token"]})
    return player.proper(call)


# The table

PLAYED = "PLAYED"
# One game with a single step, one without chance, and one in turns. Longer games would show the same, slowly.
ALL_GAMES = ("even_odd", "rock_paper_scissors", "tic_tac_toe")
AT_ONCE = tuple(name for name in ALL_GAMES if GAMES[name].max_turns == 1)
IN_TURNS = tuple(name for name in ALL_GAMES if GAMES[name].max_turns > 1)
_Three = tuple[str, str, str]


class Row(NamedTuple):
    """A kind, and what becomes of its three matches in a league with three good players.

    ``errors`` are the GAME_ERRORs that follow each request which goes wrong in the first match; E004 is E057 in games
    other than even/odd. ``waited`` is how long each round's matches wait for its answer to the announcement, since
    the others were sent theirs. That is half a second after the round's end: they answer two other messages first.
    """

    name: str
    kind: Kind
    rulings: _Three
    errors: tuple[str, ...] = ()
    waited: tuple[float, float, float] = (0, 0, 0)
    games: tuple[str, ...] = ALL_GAMES

    def errors_in(self, game: str) -> tuple[str, ...]:
        wrong_choice = messages_of(GAMES[game]).error_code
        return tuple(wrong_choice if code == "E004" else code for code in self.errors)


def _always(ruling: str) -> _Three:
    return (ruling, ruling, ruling)


def _wrong(name: str, kind: Kind, code: str, ruling: str = "INVALID_ANSWER") -> Row:
    """Asked again three times inside the window, and ruled at the fourth wrong answer."""
    return Row(name, kind, _always(ruling), (code,) * 4)


ZOO: tuple[Row, ...] = (
    # No answer
    Row("hangs", never, ("JOIN_TIMEOUT", "UNREACHABLE", "UNREACHABLE"), ("E001",) * 4, (10, 0, 0)),
    Row("hangs at invitations", at(INVITATION, never), _always("JOIN_TIMEOUT"), ("E001",) * 4),
    Row("joins and never chooses", at(CALL, never), _always("CHOICE_TIMEOUT"), ("E001",) * 4),
    Row("joins late", at(INVITATION, after(5.5)), _always("JOIN_TIMEOUT"), ("E001",) * 4),
    Row(
        "joins at the last moment, which is too late", at(INVITATION, after(5)), _always("JOIN_TIMEOUT"), ("E001",) * 4
    ),
    Row("chooses late", at(CALL, after(30.5)), _always("CHOICE_TIMEOUT"), ("E001",) * 4),
    Row(
        "posts after its loss", at((*CALL, "GAME_OVER"), posts_after_its_loss), _always("CHOICE_TIMEOUT"), ("E001",) * 4
    ),
    Row("hangs up on referees", at(MATCH, hangs_up), _always("UNREACHABLE"), ("E009",) * 4),
    Row("has gone", leaves_at_the_first_message, _always("UNREACHABLE"), ("E009",) * 4, (6, 0, 0)),
    Row("crashes after joining", at(INVITATION, leaves), _always("UNREACHABLE"), ("E009",) * 4),
    Row(
        "exits after its first move", at(CALL, leaves), (PLAYED, "UNREACHABLE", "UNREACHABLE"), (), (0, 5.5, 0), AT_ONCE
    ),
    Row("exits after its first move", at(CALL, leaves), _always("UNREACHABLE"), ("E009",) * 4, (0, 0.25, 0), IN_TURNS),
    Row("answers referees 5 MB", at(MATCH, saying(FIVE_MEGABYTES)), _always("UNREACHABLE"), ("E009",) * 4),
    Row("answers everybody 5 MB", saying(FIVE_MEGABYTES), _always("UNREACHABLE"), ("E009",) * 4, (6, 0, 0)),
    Row("refuses", at(INVITATION, with_fields(accept=False)), _always("REFUSED_INVITATION")),
    # No message
    _wrong("no JSON", at(MATCH, saying(b"even")), "E040"),
    _wrong("half a JSON text", at(MATCH, saying(b'{"jsonrpc":"2.0","result":{')), "E040"),
    _wrong("no UTF-8", at(MATCH, saying(b'{"jsonrpc":"2.0","result":"\xff","id":1}')), "E040"),
    _wrong("HTML", at(MATCH, saying(b"<html><body><h1>502 Bad Gateway</h1></body></html>")), "E040"),
    _wrong("an empty body", at(MATCH, saying(b"")), "E040"),
    _wrong("no content", at(MATCH, saying(None)), "E040"),
    _wrong("nested too deep", at(MATCH, saying(b"[" * 5_000 + b"]" * 5_000)), "E040"),
    _wrong("breaks down", breaks_down, "E041"),
    _wrong("a JSON-RPC error to everything", refuses_by_json_rpc, "E045"),
    _wrong("a wrong JSON-RPC id", mixes_up_ids, "E041"),
    _wrong("a batch", at(MATCH, answers_in_a_batch), "E041"),
    # A wrong message
    _wrong("another message type", at(MATCH, with_fields(message_type="GAME_OVER_ACK", status="ACKNOWLEDGED")), "E045"),
    _wrong("joins when it should choose", at(CALL, with_fields(message_type="GAME_JOIN_ACK")), "E003"),
    _wrong("an unknown message type", at(MATCH, with_fields(message_type="MY_MOVE")), "E045"),
    _wrong("another protocol", at(MATCH, with_fields(protocol="league.v1")), "E018"),
    _wrong("no match id", at(MATCH, with_fields(match_id=...)), "E003"),
    _wrong("another match's id", at(MATCH, with_fields(match_id="R9M9")), "E015"),
    _wrong("another match's id in its choice", at(CALL, with_fields(match_id="R9M9")), "E015"),
    _wrong("lies about its id", at(MATCH, with_fields(player_id="P01")), "E055"),
    _wrong("lies about the sender", at(MATCH, with_fields(sender="player:P01")), "E055"),
    _wrong("local time", at(MATCH, with_fields(timestamp="2026-01-01T12:00:00+02:00")), "E021"),
    _wrong("no time at all", at(INVITATION, with_fields(arrival_timestamp="now")), "E021"),
    _wrong("accepts in words", at(INVITATION, with_fields(accept="true")), "E043"),
    _wrong("a made-up token", at(MATCH, with_fields(auth_token="tok-p02-guessed")), "E012", "WRONG_TOKEN"),
    _wrong("a stolen token", at(MATCH, with_fields(auth_token=lambda player, _: player.stolen)), "E012", "WRONG_TOKEN"),
    _wrong(
        "the referee's token",
        at(CALL, with_fields(auth_token=lambda _, call: call["auth_token"])),
        "E012",
        "WRONG_TOKEN",
    ),
    # A wrong choice
    _wrong("Even", choosing(lambda valid: str(valid[0]).capitalize()), "E004"),
    _wrong("maybe", choosing(lambda _: "maybe"), "E004"),
    _wrong("an empty choice", choosing(lambda _: ""), "E004"),
    _wrong("a null choice", choosing(lambda _: None), "E004"),
    _wrong("a number", choosing(lambda _: 9), "E004"),
    _wrong("a boolean", choosing(lambda _: True), "E004"),
    _wrong("all at once", choosing(lambda valid: valid), "E004"),
    _wrong("a list in an object", choosing(lambda valid: {"choice": [valid[0]]}), "E004"),
    _wrong("9,000 characters", choosing(lambda _: "even" * 2_250), "E004"),
    _wrong("half a character", choosing(lambda _: "\ud800"), "E040"),
    _wrong("a number beyond all numbers", choosing(lambda _: 10**400), "E004"),
    _wrong("not a number", choosing(lambda _: float("nan")), "E040"),
    _wrong("no choice", choosing(lambda _: ...), "E003"),
    # Not so bad: these must not lose by it
    Row("slow but in time", at(MATCH, after(4.9)), _always(PLAYED)),
    Row("thinks for 29.9 seconds", at(CALL, after(29.9)), _always(PLAYED)),
    Row("joins at the third try", at(INVITATION, at_the_third_try(never)), _always(PLAYED), ("E001",) * 2),
    Row("chooses at the third try", at(CALL, at_the_third_try(never)), _always(PLAYED), ("E001",) * 2),
    Row("hangs up twice", at(CALL, at_the_third_try(hangs_up)), _always(PLAYED), ("E009",) * 2),
    Row(
        "is right at the third try", at(CALL, at_the_third_try(choosing(lambda _: 0.5))), _always(PLAYED), ("E004",) * 2
    ),
    Row("posts at last", at(CALL, posts_before_its_last_answer), _always(PLAYED), ("E004",) * 3),
    Row(
        "back after its suspension",
        back_after_its_suspension,
        ("JOIN_TIMEOUT", PLAYED, PLAYED),
        ("E001",) * 4,
        (10, 0, 0),
    ),
    Row("deaf to the manager", at(BROADCAST, never), _always(PLAYED), (), (10, 9.5, 9.5)),
    Row("deaf to the end", at(NEWS, never), _always(PLAYED)),
    Row("answers twice", at(MATCH, answers_twice), _always(PLAYED)),
    Row("changes its mind", at(CALL, changes_its_mind), _always(PLAYED)),
    Row("accepts and then declines", at(INVITATION, declines_after_accepting), _always(PLAYED)),
    Row("posts between two tries", at(CALL, posts_between_two_tries), _always(PLAYED), ("E001",)),
    Row("reports its own victory", at(INVITATION, reports_its_own_victory), _always(PLAYED)),
    Row("floods the referee", at(CALL, floods_the_referee), _always(PLAYED)),
    Row("chooses for its opponent", at(CALL, chooses_for_its_opponent), _always(PLAYED)),
    Row("says no more than it must", with_fields(sender=..., conversation_id=..., auth_token=...), _always(PLAYED)),
    Row("says more than it must", with_fields(mood="sunny", thoughts={"depth": [1, 2]}), _always(PLAYED)),
)
