"""The error catalogue, the numbers of errors in JSON-RPC, and the exceptions.

    ProtocolError         a request of a peer is wrong, or cannot be met; it is answered with an error
    └── InvalidMessage    the fields of a message are wrong; it has all violations, not only the first

Codes up to E031 are from the documents. Codes from E040 on are ours, for errors that no document names.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Severity = Literal["Medium", "High", "Critical"]


class CatalogueEntry(NamedTuple):
    """One row of the catalogue."""

    code: str
    name: str
    sentence: str
    remedy: str
    severity: Severity = "High"
    retryable: bool = False


_ENTRIES = (
    CatalogueEntry("E001", "TIMEOUT_ERROR", "No answer came in time.", "Answer within the time limit.", retryable=True),
    CatalogueEntry("E003", "MISSING_REQUIRED_FIELD", "A required field is missing or null.", "Add the field."),
    CatalogueEntry(
        "E004",
        "INVALID_PARITY_CHOICE",
        "The choice is not exactly even or odd.",
        'Send "even" or "odd", in lower case, as a string.',
    ),
    CatalogueEntry("E005", "PLAYER_NOT_REGISTERED", "No such player is registered.", "Register, or check the id."),
    CatalogueEntry(
        "E009",
        "CONNECTION_ERROR",
        "The agent could not be reached.",
        "Keep the agent's server running at its contact_endpoint.",
        severity="Critical",
        retryable=True,
    ),
    CatalogueEntry(
        "E011",
        "AUTH_TOKEN_MISSING",
        "The message carries no auth_token.",
        "Send the auth_token that the registration answer gave you.",
    ),
    CatalogueEntry(
        "E012",
        "AUTH_TOKEN_INVALID",
        "The auth_token is not valid here.",
        "Send the auth_token of your latest registration in this league.",
    ),
    CatalogueEntry(
        "E015",
        "MATCH_ID_MISMATCH",
        "The match_id is not that of the match in question.",
        "Echo the match_id of the request.",
    ),
    CatalogueEntry(
        "E018",
        "PROTOCOL_VERSION_MISMATCH",
        "The protocol or its version is not supported.",
        'Send protocol "league.v2" and a protocol_version 2.x from 2.0.0 on.',
    ),
    CatalogueEntry(
        "E019",
        "LATE_REGISTRATION",
        "The league has started; registration is closed.",
        "Register before the start, or ask the operator.",
    ),
    CatalogueEntry("E020", "LEAGUE_FULL", "The league has no place left.", "Ask the operator for a place."),
    CatalogueEntry(
        "E021",
        "INVALID_TIMESTAMP",
        "A timestamp is not ISO 8601 in UTC.",
        "Send YYYY-MM-DDTHH:MM:SSZ.",
        severity="Medium",
    ),
    CatalogueEntry(
        "E030",
        "LEAGUE_NOT_STARTED",
        "The league has not started yet.",
        "Wait for the first ROUND_ANNOUNCEMENT.",
        severity="Medium",
        retryable=True,
    ),
    CatalogueEntry(
        "E031", "LEAGUE_ALREADY_COMPLETE", "The league is over.", "Nothing is left to do.", severity="Medium"
    ),
    CatalogueEntry("E040", "INVALID_JSON", "The body is not JSON.", "Send one JSON text in UTF-8."),
    CatalogueEntry(
        "E041",
        "INVALID_REQUEST",
        "The JSON is no JSON-RPC 2.0 request.",
        'Send {"jsonrpc": "2.0", "method": …, "params": {…}, "id": …}.',
    ),
    CatalogueEntry("E042", "UNKNOWN_METHOD", "There is no such method here.", "Call one of the listed methods."),
    CatalogueEntry("E043", "INVALID_FIELD_TYPE", "A field has the wrong type.", "Send the type expected."),
    CatalogueEntry("E044", "INVALID_FIELD_VALUE", "A field has a value that is not allowed.", "Send an allowed one."),
    CatalogueEntry(
        "E045",
        "MESSAGE_TYPE_MISMATCH",
        "The message_type is unknown, or does not fit the method.",
        "Send the message_type that the method expects.",
    ),
    CatalogueEntry(
        "E046", "MESSAGE_TOO_LARGE", "The message is too large.", "Send fewer bytes: the detail states the limit."
    ),
    CatalogueEntry(
        "E047", "DUPLICATE_NAME", "The display_name is taken.", "Choose a different display_name.", severity="Medium"
    ),
    CatalogueEntry(
        "E048",
        "ENDPOINT_UNREACHABLE",
        "Nothing answers at the contact_endpoint.",
        "Start the agent's server before it registers, at an address of its own that the manager can reach.",
        retryable=True,
    ),
    CatalogueEntry(
        "E049",
        "UNSUPPORTED_GAME",
        "The agent does not support the league's game.",
        "Include the league's game in game_types; use a strategy that can play it (`league player --help` lists them).",
    ),
    CatalogueEntry("E050", "MATCH_NOT_FOUND", "There is no such match here.", "Check the match_id."),
    CatalogueEntry(
        "E051", "MATCH_STATE_ERROR", "The match is not in a state for this.", "Wait to be called.", severity="Medium"
    ),
    CatalogueEntry(
        "E052",
        "INVALID_QUERY_TYPE",
        "There is no such query.",
        "Ask for GET_STANDINGS, GET_SCHEDULE, GET_NEXT_MATCH, GET_PLAYER_STATS or GET_STATUS.",
        severity="Medium",
    ),
    CatalogueEntry("E053", "LEAGUE_NOT_FOUND", "There is no such league here.", "Check the league_id."),
    CatalogueEntry(
        "E054", "DUPLICATE_REPORT", "The match's result has been reported.", "Nothing is left to do.", severity="Medium"
    ),
    CatalogueEntry(
        "E055",
        "SENDER_MISMATCH",
        "The sender is not the agent whose token this is.",
        "Send your own type:id as sender.",
    ),
    CatalogueEntry(
        "E056",
        "INVALID_RESULT",
        "The result contradicts itself or the game's rules.",
        "Report winner, score, choices and number that fit each other.",
    ),
    CatalogueEntry("E057", "INVALID_MOVE", "The move is not legal.", "Choose one of valid_options."),
    CatalogueEntry("E058", "NOT_ALLOWED", "This agent may not do that.", "Ask the operator."),
    CatalogueEntry(
        "E059", "RATE_LIMITED", "Too many requests.", "Slow down and try again.", severity="Medium", retryable=True
    ),
    CatalogueEntry(
        "E060",
        "INTERNAL_ERROR",
        "The server failed.",
        "Try again; tell the operator.",
        severity="Critical",
        retryable=True,
    ),
    CatalogueEntry(
        "E061",
        "RECORD_MISSING",
        "The record of the match is missing.",
        "Post the record, then report again.",
        severity="Medium",
        retryable=True,
    ),
)
CATALOGUE: dict[str, CatalogueEntry] = {entry.code: entry for entry in _ENTRIES}

# Errors of malformed requests. Each has the same JSON-RPC number under every method.
_MALFORMED: dict[str, tuple[int, str]] = {
    "E040": (-32700, "Parse error"),
    **dict.fromkeys(("E041", "E046"), (-32600, "Invalid Request")),
    "E042": (-32601, "Method not found"),
    **dict.fromkeys(("E003", "E018", "E021", "E043", "E044", "E045"), (-32602, "Invalid params")),
    "E060": (-32603, "Internal error"),
}

_INVALID_TOKEN = "Invalid auth token"  # noqa: S105 - an error's text, not a secret
# The tables of document 001: the number and the text of an error under a method.
_DOCUMENTED: dict[tuple[str, str], tuple[int, str]] = {
    ("register_referee", "E020"): (1001, "League full"),
    ("register_referee", "E048"): (1002, "Invalid endpoint"),
    ("register_referee", "E049"): (1003, "Unsupported game type"),
    ("register_player", "E020"): (2001, "League full"),
    ("register_player", "E047"): (2002, "Duplicate name"),
    ("register_player", "E048"): (2003, "Invalid endpoint"),
    ("register_player", "E049"): (2004, "Unsupported game type"),
    ("notify_round", "E012"): (3001, _INVALID_TOKEN),
    ("notify_round", "E005"): (3002, "Player not registered"),
    ("update_standings", "E012"): (3001, _INVALID_TOKEN),
    ("notify_round_completed", "E012"): (3001, _INVALID_TOKEN),
    ("notify_league_completed", "E012"): (3001, _INVALID_TOKEN),
    ("handle_game_invitation", "E012"): (4001, _INVALID_TOKEN),
    ("handle_game_invitation", "E005"): (4002, "Player not found"),
    ("handle_game_invitation", "E050"): (4003, "Match not found"),
    ("handle_game_invitation", "E001"): (-1, "Timeout waiting for GAME_JOIN_ACK"),
    ("parity_choose", "E012"): (4001, _INVALID_TOKEN),
    ("parity_choose", "E004"): (4004, "Invalid choice"),
    ("parity_choose", "E051"): (4005, "Match state error"),
    ("parity_choose", "E001"): (-1, "Timeout waiting for CHOOSE_PARITY_RESPONSE"),
    ("notify_match_result", "E012"): (4001, _INVALID_TOKEN),
    ("report_match_result", "E012"): (5001, _INVALID_TOKEN),
    ("report_match_result", "E050"): (5002, "Match not found"),
    ("report_match_result", "E054"): (5003, "Duplicate report"),
    ("league_query", "E012"): (6001, _INVALID_TOKEN),
    ("league_query", "E052"): (6002, "Invalid query type"),
    ("league_query", "E053"): (6003, "League not found"),
}
# The documents have no table for these methods. They have the numbers of the most similar method.
_SAME_AS = {
    "game_join_ack": ("handle_game_invitation", ("E012", "E005", "E050", "E001")),
    "choose_parity_response": ("parity_choose", ("E012", "E004", "E051", "E001")),
    "choose_move": ("parity_choose", ("E012", "E051")),
    "notify_game_error": ("notify_match_result", ("E012",)),
    "league_error": ("notify_round", ("E012",)),
    "start_match": ("notify_round", ("E012",)),
    "report_match_progress": ("report_match_result", ("E012", "E050")),
    "report_match_void": ("report_match_result", ("E012", "E050", "E054")),
    "game_move_response": ("parity_choose", ("E012", "E051")),
}
for _method, (_like, _codes) in _SAME_AS.items():
    _DOCUMENTED |= {(_method, _code): _DOCUMENTED[_like, _code] for _code in _codes}
_DOCUMENTED |= {
    ("game_join_ack", "E051"): (4005, "Match state error"),
    ("choose_parity_response", "E050"): (4003, "Match not found"),
    ("game_move_response", "E050"): (4003, "Match not found"),
    ("game_move_response", "E057"): (4004, "Invalid choice"),
    ("choose_move", "E001"): (-1, "Timeout waiting for GAME_MOVE_RESPONSE"),
    ("game_move_response", "E001"): (-1, "Timeout waiting for GAME_MOVE_RESPONSE"),
}


def documented_number(method: str, code: str) -> int | None:
    """The number of an error under a method in document 001, or None if its table has no such row."""
    row = _DOCUMENTED.get((method, code))
    return None if row is None else row[0]


def rpc_number(method: str | None, code: str) -> tuple[int, str]:
    """The JSON-RPC number and text of an error: of a malformed request, from document 001, or from the code itself."""
    if (row := _MALFORMED.get(code)) is not None:
        return row
    if method is not None and (row := _DOCUMENTED.get((method, code))) is not None:
        return row
    return int(code[1:]), CATALOGUE[code].name


class Violation(NamedTuple):
    """An error in a message: its path, what came, what was expected, and the requirement."""

    path: str
    code: str
    came: str
    expected: str
    requirement: str | None = None

    def __str__(self) -> str:
        source = f" [{self.requirement}]" if self.requirement else ""
        return f"{self.path}: {self.came}; expected {self.expected}{source}"

    def plain(self) -> dict[str, str]:
        """The fields as JSON, without an empty requirement."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class ProtocolError(Exception):
    """A request that cannot be met.

    ``data`` has the additional fields that document 001 gives an error of this kind (``previous_report_time`` …).
    ``answer`` is the body in which the error was found, if it was the answer to a call of ours.
    """

    answer = b""

    def __init__(
        self,
        code: str,
        detail: str | None = None,
        *,
        context: dict[str, Any] | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        self.code = code
        self.fault = CATALOGUE[code]
        self.detail = detail or self.fault.sentence
        self.context = context or {}
        self.data = data or {}
        super().__init__(f"{code} {self.fault.name}: {self.detail}")


class InvalidMessage(ProtocolError):
    """A message whose fields are wrong, with all violations."""

    # The code of the first of these violations is the code of the message.
    _PRIORITY = ("E018", "E045", "E003", "E011", "E043", "E044", "E021")

    def __init__(self, violations: list[Violation]) -> None:
        self.violations = violations
        worst = min(violations, key=lambda one: self._PRIORITY.index(one.code) if one.code in self._PRIORITY else 99)
        super().__init__(
            worst.code,
            "; ".join(str(violation) for violation in violations),
            context={"violations": [violation.plain() for violation in violations]},
        )
