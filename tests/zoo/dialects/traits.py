"""What agents in the field do otherwise than the specification, one trait per line; a kind of agent is a set of them.

With ``rpc`` alone a fake is a proper agent of document 001: its methods, flat params, the message in ``result``.
``notes`` are the rules that a host should note as broken by an agent with the trait; most traits break none, for they
show only to somebody who sends what the agent cannot take.
"""

from __future__ import annotations

from typing import NamedTuple


class Trait(NamedTuple):
    """One thing that somebody's program does."""

    does: str
    notes: tuple[str, ...] = ()


# The rules, as a host should note them. An answer that lacks sender, conversation_id or auth_token breaks none.
RULES = {
    "request-form": "does not know the methods of 001 with flat params",
    "choice-method": "does not know the method parity_choose",
    "registration-method": "registers by a method that no document names",
    "registration-missing": "never registered",
    "registration-fields": "registers without a field that is required",
    "protocol-version": "declares a protocol_version other than 2.x",
    "timestamp-form": "writes a timestamp that is neither ISO 8601 nor the compact date of 000",
    "answer-form": "answers with the message elsewhere than in result",
    "answer-later": "acknowledges a request and posts the answer to it by itself",
    "answer-id": "answers with another id than the request's",
    "answer-error": "answers with both result and error",
    "choice-key": "chooses in another field than parity_choice",
    "join-accept": "joins without accept",
    "join-type": "joins with an acknowledgement that is no GAME_JOIN_ACK",
    "join-fields": "joins without match_id, protocol and timestamp",
    "message-type": "states its type in another field than message_type, or not at all",
    "arrival-timestamp": "joins without arrival_timestamp",
    "player-id": "answers with another player_id than its own, or none",
    "sender": "answers as another sender than itself",
    "auth-token": "answers with a token that is not its own",
}

FORMS = {
    "rpc": Trait("knows the methods of 001, and the choice by parity_choose and by choose_parity"),
    "rpc-choose": Trait("knows the methods of 001, but the choice only by choose_parity", ("choice-method",)),
    "rpc-parity": Trait("knows the methods of 001, the choice only by parity_choose"),
    "type": Trait("knows the message type as the method, with flat params", ("request-form",)),
    "tools": Trait(
        "knows tools/call without any handshake, with three tools, and answers with text in result.content",
        ("request-form", "answer-form"),
    ),
    "message": Trait("takes any method, and reads the message in params.message", ("request-form",)),
    "envelope": Trait(
        "knows league.handle with envelope and payload, answers likewise, and plays only tic-tac-toe",
        ("request-form", "answer-form"),
    ),
}

REGISTRATIONS = {
    "registers-league_register": Trait("registers by the method league_register", ("registration-method",)),
    "registers-type": Trait("registers by the method LEAGUE_REGISTER_REQUEST"),
    "registers-message": Trait(
        "registers by handle_message, with the message in params.message", ("registration-method",)
    ),
    "registers-tools": Trait(
        "registers by tools/call, and reads the answer in result.content[0].text", ("registration-method",)
    ),
    "registers-envelope": Trait(
        "registers by league.handle, and reads the answer in result.envelope and result.payload",
        ("registration-method",),
    ),
    "registers-without-envelope": Trait(
        "registers without sender, timestamp and conversation_id", ("registration-fields",)
    ),
    "registers-bare-meta": Trait("sends nothing but player_meta, and that without version", ("registration-fields",)),
    "wants-REGISTERED": Trait(
        'says protocol_version "league.v2", and is registered only if the answer says REGISTERED', ("protocol-version",)
    ),
    "never-registers": Trait("opens its port and never registers: somebody must add it", ("registration-missing",)),
    "own-id": Trait("asks for an id by its sender, and uses that whatever it is given"),
    "opens-late": Trait("opens its port only after the registration was answered"),
}

ANSWERS = {
    "answers-bare": Trait("answers with the message and no JSON-RPC around it", ("answer-form",)),
    "answers-request": Trait("answers with a JSON-RPC request that has the message in params", ("answer-form",)),
    "answers-text": Trait("answers with JSON text in result.content[0].text", ("answer-form",)),
    "answers-structured": Trait("answers in result.structuredContent, beside a text for people", ("answer-form",)),
    "joins-later": Trait(
        'answers an invitation with {"status": "RECEIVED"}, then posts GAME_JOIN_ACK to the announced referee',
        ("answer-later",),
    ),
    "joins-at-fixed-port": Trait(
        'answers an invitation with {"status": "RECEIVED"}, then posts GAME_JOIN_ACK to port 8001, or 8002 for REF02',
        ("answer-later",),
    ),
    "chooses-in-choice": Trait("chooses in the field choice", ("choice-key",)),
    "joins-by-ack": Trait('joins with {"status": "ACK"} and nothing else', ("join-type",)),
    "joins-by-status": Trait('joins with status "ACCEPTED" in place of accept', ("join-accept",)),
    "joins-by-accepted": Trait("joins with accepted in place of accept", ("join-accept",)),
    "joins-by-accept-alone": Trait(
        'joins with {"accept": true} and nothing else',
        ("message-type", "join-fields", "arrival-timestamp", "player-id"),
    ),
    "writes-type": Trait("writes type in place of message_type", ("message-type",)),
    "error-null": Trait('adds "error": null to a good result', ("answer-error",)),
    "other-ids": Trait("answers with ids of its own", ("answer-id",)),
}

REFUSALS = {
    "refuses-400": Trait("answers what it does not know with HTTP 400"),
    "refuses-401": Trait("answers what it does not know with HTTP 401"),
    "refuses-404": Trait("answers what it does not know with HTTP 404"),
    "refuses-422": Trait("answers what it does not know with HTTP 422"),
    "refuses-500": Trait("answers what it does not know with HTTP 500"),
    "refuses-in-text": Trait("refuses in plain text in place of JSON-RPC"),
    "refuses-ok": Trait('answers what it does not know with HTTP 200 and {"status": "ok"}'),
    "refuses-unknown": Trait('answers what it does not know with HTTP 200 and {"status": "unknown_message_type"}'),
    "refuses-error": Trait('answers what it does not know with HTTP 200 and {"status": "error"}'),
}

IDENTITIES = {
    "player_id-wrong": Trait("answers with the player_id of somebody else", ("player-id",)),
    "player_id-missing": Trait("answers without player_id", ("player-id",)),
    "sender-wrong": Trait("answers as a sender of its own invention", ("sender",)),
    "sender-missing": Trait("answers without sender"),
    "token-wrong": Trait("answers with a token of its own invention", ("auth-token",)),
    "token-missing": Trait("answers without auth_token"),
    "token-echoed": Trait("answers with the token that it was sent", ("auth-token",)),
    "no-arrival_timestamp": Trait("joins without arrival_timestamp", ("arrival-timestamp",)),
    "no-conversation_id": Trait("answers without conversation_id"),
    "no-accept": Trait("joins without accept", ("join-accept",)),
}

INSISTENCES = {
    "insists-integer-id": Trait("fails at a JSON-RPC id that is not an integer"),
    "insists-timestamp": Trait("takes timestamps only as YYYY-MM-DDTHH:MM:SSZ"),
    "insists-token": Trait("wants an auth_token that is not empty"),
    "insists-envelope": Trait("wants all five fields of the envelope"),
    "insists-conversation_id": Trait("wants a conversation_id"),
    "insists-player_id": Trait("wants player_id in GAME_INVITATION"),
    "insists-league-and-round": Trait("wants league_id and round_id in every message of a match"),
    "insists-nested": Trait(
        "reads the invitation only in its game_invitation object, and the call only in its parity_context, "
        "which must also have opponent_id and your_standings"
    ),
    "insists-senders": Trait("takes only referee:REF01 and referee:REF02 as referees, and league_manager:LM01"),
}

MANNERS = {
    "refuses-second-invitation": Trait("answers the second invitation to a match with accept: false"),
    "stuck-until-game-over": Trait("takes no other match until GAME_OVER of the one it joined"),
    "knows-half-the-broadcasts": Trait("knows ROUND_ANNOUNCEMENT and LEAGUE_COMPLETED alone of the broadcasts"),
    "exits-on-LEAGUE_COMPLETED": Trait("stops listening when it is told LEAGUE_COMPLETED"),
    "stalls-without-8001": Trait("knocks at port 8001 when it is invited, and stalls for 12 s if nobody listens"),
}

TIMES = {
    "times-milliseconds": Trait("writes timestamps with milliseconds and Z"),
    "times-microseconds": Trait("writes timestamps with microseconds and Z"),
    "times-offset": Trait("writes timestamps with microseconds and +00:00"),
    "times-compact": Trait("writes timestamps like 20261115T174103Z", ("timestamp-form",)),
}

# Nobody can host these.
HOPELESS = {
    "never-comes": Trait("neither opens a port nor registers"),
    "dies-registering": Trait("crashes on its own registration before that is sent"),
    "dies-joining": Trait("crashes on its own GAME_JOIN_ACK, and answers HTTP 500 in its place"),
}

HOSTABLE = FORMS | REGISTRATIONS | ANSWERS | REFUSALS | IDENTITIES | INSISTENCES | MANNERS | TIMES
TRAITS = HOSTABLE | HOPELESS
