"""What is known of the field, sentence by sentence, in our own words, and the traits that stand for each.

``ten`` is in how many of the ten the field has it, where that is known: the ten fakes have it as often.
"""

from __future__ import annotations

from typing import NamedTuple


class Sentence(NamedTuple):
    """A fact about the field. With several traits, an agent that has one of them is counted."""

    fact: str
    traits: tuple[str, ...]
    ten: int | None = None


SENTENCES = (
    # Forms of a request
    Sentence("Six know the methods of 001 with flat params.", ("rpc", "rpc-choose", "rpc-parity"), 6),
    Sentence("Three of them know the choice only as choose_parity.", ("rpc-choose",), 3),
    Sentence("One of them knows the choice only as parity_choose.", ("rpc-parity",), 1),
    Sentence("Five know the message type as the method.", ("type",), 5),
    Sentence("One knows tools/call, without a handshake.", ("tools",), 1),
    Sentence("One reads params.message, whatever the method.", ("message",), 1),
    Sentence("One that plays only tic-tac-toe knows league.handle.", ("envelope", "registers-envelope"), 0),
    Sentence("Some register by league_register.", ("registers-league_register",)),
    Sentence("Some register by LEAGUE_REGISTER_REQUEST.", ("registers-type",)),
    Sentence("Some register by handle_message.", ("registers-message",)),
    Sentence("Some register by tools/call.", ("registers-tools",)),
    # Forms of an answer
    Sentence("The message comes bare.", ("answers-bare",)),
    Sentence("The message comes in a JSON-RPC request.", ("answers-request",)),
    Sentence("The message comes as text in result.content.", ("answers-text",)),
    Sentence("The message comes in result.structuredContent.", ("answers-structured",)),
    Sentence("The join is posted to the referee later.", ("joins-later", "joins-at-fixed-port")),
    Sentence("One always posts it to port 8001 or 8002.", ("joins-at-fixed-port",), 1),
    Sentence("The choice is in the field choice.", ("chooses-in-choice",)),
    Sentence("The join is an acknowledgement and no more.", ("joins-by-ack",)),
    Sentence("The join says ACCEPTED in place of accept.", ("joins-by-status",)),
    Sentence("The join says accepted in place of accept.", ("joins-by-accepted",)),
    Sentence("The join is only accept.", ("joins-by-accept-alone",)),
    Sentence("The message says type in place of message_type.", ("writes-type",)),
    Sentence("An error that is null comes beside the result.", ("error-null",)),
    Sentence("The ids of answers do not match.", ("other-ids",)),
    Sentence("HTTP 400 comes.", ("refuses-400",)),
    Sentence("HTTP 401 comes.", ("refuses-401",)),
    Sentence("HTTP 404 comes.", ("refuses-404",)),
    Sentence("HTTP 422 comes.", ("refuses-422",)),
    Sentence("HTTP 500 comes.", ("refuses-500",)),
    Sentence("Refusals come in plain text.", ("refuses-in-text",)),
    Sentence("What is unknown is answered ok.", ("refuses-ok",)),
    Sentence("What is unknown is answered unknown_message_type.", ("refuses-unknown",)),
    Sentence("What is unknown is answered error.", ("refuses-error",)),
    Sentence(
        "In nine, player_id, sender or auth_token is wrong or missing.",
        (
            "player_id-wrong",
            "player_id-missing",
            "sender-wrong",
            "sender-missing",
            "token-wrong",
            "token-missing",
            "token-echoed",
        ),
        9,
    ),
    Sentence("One echoes the referee's token.", ("token-echoed",), 1),
    Sentence("player_id is left out.", ("player_id-missing",)),
    Sentence("arrival_timestamp is left out.", ("no-arrival_timestamp",)),
    Sentence("conversation_id is left out.", ("no-conversation_id",)),
    Sentence("accept is left out.", ("no-accept",)),
    # What they insist on
    Sentence("Two fail at an id that is not an integer.", ("insists-integer-id",), 2),
    Sentence("The timestamp must be exact.", ("insists-timestamp",)),
    Sentence("The auth_token must not be empty.", ("insists-token",)),
    Sentence("All five fields of the envelope must be there.", ("insists-envelope",)),
    Sentence("The conversation_id must be there.", ("insists-conversation_id",)),
    Sentence("The invitation must have player_id.", ("insists-player_id",)),
    Sentence("Every message of a match must have league_id and round_id.", ("insists-league-and-round",)),
    Sentence("One reads only the nested objects.", ("insists-nested",), 1),
    Sentence("One knows two referees and one manager by name.", ("insists-senders",), 1),
    Sentence("One is registered only by REGISTERED.", ("wants-REGISTERED",), 1),
    Sentence("Six never adopt the id that they are given.", ("own-id",), 6),
    Sentence("Five open their port after the registration.", ("opens-late",), 5),
    Sentence("One must be added by hand.", ("never-registers",), 1),
    # Manners
    Sentence("One refuses the second invitation to a match.", ("refuses-second-invitation",), 1),
    Sentence("Some are stuck until GAME_OVER.", ("stuck-until-game-over",)),
    Sentence("Half do not know half of the broadcasts.", ("knows-half-the-broadcasts", "tools"), 5),
    Sentence("One exits on LEAGUE_COMPLETED.", ("exits-on-LEAGUE_COMPLETED",), 1),
    Sentence("One stalls for 12 s with nobody on port 8001.", ("stalls-without-8001",), 1),
    # Registrations that miss fields, and times
    Sentence("One registers without sender, timestamp and conversation_id.", ("registers-without-envelope",), 1),
    Sentence("One sends only player_meta, without version.", ("registers-bare-meta",), 1),
    Sentence("Times have milliseconds and Z.", ("times-milliseconds",)),
    Sentence("Times have microseconds and Z.", ("times-microseconds",)),
    Sentence("Times have microseconds and +00:00.", ("times-offset",)),
    Sentence("Times are like 20261115T174103Z.", ("times-compact",)),
    # Hosted by nobody
    Sentence("Some never register.", ("never-comes",), 0),
    Sentence("Some crash on their own messages.", ("dies-registering", "dies-joining"), 0),
)
