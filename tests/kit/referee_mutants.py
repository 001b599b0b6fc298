"""For each check of a referee, a referee that fails it and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from leaguekit.kit.referee import CHECKS
from tests.kit.mutants import (
    Also,
    Faked,
    Json,
    Mutant,
    When,
    accepting,
    answering,
    delaying,
    dropping,
    ignoring,
    is_a,
    once,
    params_of,
    refusing,
    repeating,
    rpc_mutants,
    sending,
    value_at,
    with_value,
)

FIRST = "R1M1"
_MESSAGES = {
    "invitation": "GAME_INVITATION",
    "call": "CHOOSE_PARITY_CALL",
    "over": "GAME_OVER",
    "report": "MATCH_RESULT_REPORT",
}
INVITE_B = is_a("GAME_INVITATION", match_id=FIRST, role_in_match="PLAYER_B")
CALL_B = is_a("CHOOSE_PARITY_CALL", match_id=FIRST, player_id="P02")
OVER, REPORT = is_a("GAME_OVER", match_id=FIRST), is_a("MATCH_RESULT_REPORT", match_id=FIRST)
REGISTER, ERROR = is_a("REFEREE_REGISTER_REQUEST"), is_a("GAME_ERROR")
ASSIGNMENT = is_a("MATCH_ASSIGNMENT")
RULING = "result__details__ruling"


def _other_number(path: str) -> Callable[[Json], int]:
    """Return another number of the same parity."""
    return lambda params: (value_at(params, path) + 1) % 10 + 1


def _loser(path: str) -> Callable[[Json], str]:
    return lambda params: "P01" if value_at(params, path) == "P02" else "P02"


def _ruled(ruling: str, **fields: Any) -> When:
    return is_a("MATCH_RESULT_REPORT", **{RULING: ruling}, **fields)


def _no_winner(ruling: str) -> Mutant:
    return sending(once(_ruled(ruling)), "result.winner", None)


def _faking(when: When, kind: str, **fields: Any) -> Mutant:
    """Continue as if the player had answered at once."""

    def fake(request: Json, _url: str) -> Any:
        if not when(request):
            return request
        params = request["params"]
        answer = {
            "protocol": "league.v2",
            "message_type": kind,
            "timestamp": params["timestamp"],
            "match_id": params["match_id"],
            "player_id": params["player_id"],
        }
        return Faked(request, answer | fields)

    return Mutant(change_request=fake)


def _own_token() -> Mutant:
    token: list[str] = []

    def remember(request: Json, answer: Any) -> Any:
        if REGISTER(request):
            token.append(answer["result"]["auth_token"])
        return answer

    def show(request: Json, _url: str) -> Json:
        return request | {"params": request["params"] | {"auth_token": token[0]}} if OVER(request) else request

    return Mutant(change_received_answer=remember, change_request=show)


def _after_error(code: str, change: Callable[[Json], Any]) -> Mutant:
    """Change the first report of a match in which an error was sent."""
    matches: list[str] = []

    def watch(request: Json, _url: str) -> Any:
        params = params_of(request)
        if ERROR(request) and params["error_code"] == code and not matches:
            matches.append(params["match_id"])
        if params.get("message_type") == "MATCH_RESULT_REPORT" and params["match_id"] in matches:
            return change(request)
        return request

    return Mutant(change_request=watch)


def _first_error(path: str) -> Mutant:
    return sending(once(ERROR), path)


def _old_rpc(when: When) -> Mutant:
    return Mutant(change_request=lambda request, _url: request | {"jsonrpc": "1.0"} if when(request) else request)


def _unreported(request: Json) -> Faked:
    """Do not send a report, as if it had been accepted."""
    return Faked(None, _ack_of(request))


def _ack_of(report: Json) -> Json:
    shared = {name: report["params"][name] for name in ("protocol", "timestamp", "match_id", "round_id")}
    return shared | {"message_type": "MATCH_RESULT_ACK", "status": "ACCEPTED"}


def _changed(path: str, wrong: Any) -> Callable[[Json], Json]:
    return lambda request: request | {"params": with_value(request["params"], path, wrong)}


class _Memory:
    """Remember which requests were sent to which URL, by match, type and side."""

    def __init__(self) -> None:
        self._sides: dict[tuple[str, str], str] = {}
        self.sent: dict[tuple[str, str, str], tuple[str, Json]] = {}

    def see(self, request: Json, url: str) -> None:
        params = params_of(request)
        match, kind = params.get("match_id", ""), params.get("message_type", "")
        if kind == "GAME_INVITATION":
            self._sides[match, url] = params["role_in_match"][-1]
        self.sent[match, kind, self._sides.get((match, url), "")] = (url, request)


def _on_timeout(action: str, kind: str, side: str) -> Mutant:
    """After the last error about a missing answer, send that player or the other one the request again."""
    memory = _Memory()
    done: list[bool] = []

    def more(request: Json, url: str) -> Any:
        memory.see(request, url)
        params = params_of(request)
        late = ERROR(request) and params["error_code"] == "E001" and params["action_required"] == action
        if late and not params["retryable"] and not done:
            done.append(True)
            return Also(request, [memory.sent[params["match_id"], kind, side]])
        return request

    return Mutant(change_request=more)


def _hasty(action: str, kind: str) -> Mutant:
    """Wait half a second longer before one retry."""
    late: set[str] = set()
    done: list[bool] = []

    async def wait(request: Json, url: str) -> Json:
        params = params_of(request)
        if ERROR(request) and params["error_code"] == "E001" and params["action_required"] == action:
            late.add(url)
        if params.get("message_type") == kind and url in late and not done:
            done.append(True)
            await asyncio.sleep(0.5)
        return request

    return Mutant(change_request=wait)


def _to_the_other() -> Mutant:
    memory = _Memory()
    done: list[bool] = []

    def tell(request: Json, url: str) -> Any:
        memory.see(request, url)
        if ERROR(request) and request["params"]["error_code"] == "E004" and not done:
            done.append(True)
            there, _ = memory.sent[request["params"]["match_id"], "CHOOSE_PARITY_CALL", "B"]
            return Also(request, [(there, request)])
        return request

    return Mutant(change_request=tell)


def _nth_state_error(number: int) -> Mutant:
    count: list[bool] = []

    def change(request: Any, answer: Any) -> Any:
        if isinstance(answer, dict) and value_at(answer, "error.code") == 4005:
            count.append(True)
            return with_value(answer, "error.code", 9) if len(count) == number else answer
        return answer

    return Mutant(change_answer=change)


def _number(method: str, code: int) -> Mutant:
    def change(request: Any, answer: Any) -> Any:
        is_meant = (
            isinstance(request, dict) and request.get("method") == method and value_at(answer, "error.code") == code
        )
        return with_value(answer, "error.code", 9) if is_meant else answer

    return Mutant(change_answer=change)


def _posted(**fields: Any) -> Callable[[Any], bool]:
    """Return a predicate: whether a request of a player has these values. ``...`` stands for an absent field."""

    def holds(request: Any) -> bool:
        params = params_of(request)
        is_post = isinstance(request, dict) and request.get("method") in ("game_join_ack", "choose_parity_response")
        return is_post and all(params.get(name, ...) == value for name, value in fields.items())

    return holds


def _second_assignment() -> Mutant:
    seen: set[str] = set()

    def change(request: Any, answer: Any) -> Any:
        if not isinstance(request, dict) or not ASSIGNMENT(request) or value_at(answer, "result") is None:
            return answer
        match = request["params"]["match_id"]
        is_first = match not in seen
        seen.add(match)
        return answer if is_first else with_value(answer, "result.status", "REJECTED")

    return Mutant(change_answer=change)


def _believing(code: int | None) -> Mutant:
    """Take a report as accepted that was refused or not answered."""

    def change(request: Json, answer: Any) -> Any:
        if (
            not is_a("MATCH_RESULT_REPORT")(request)
            or value_at(answer, "error.code") != code
            or value_at(answer, "result")
        ):
            return answer
        return {"jsonrpc": "2.0", "result": _ack_of(request), "id": request["id"]}

    return Mutant(change_received_answer=change)


def _insisting() -> Mutant:
    is_first = once(lambda answer: value_at(answer, "error.code") == 5003)

    def change(_request: Json, answer: Any) -> Any:
        return with_value(answer, "error", {"code": -32603, "message": "no"}) if is_first(answer) else answer

    return Mutant(change_received_answer=change)


def _trusting() -> Mutant:
    """Accept any token of the manager."""
    known: list[str] = []

    def hear(request: Any) -> Any:
        if not isinstance(request, dict) or not ASSIGNMENT(request):
            return request
        token = request["params"]["auth_token"]
        known.append(token)
        return request if token == known[0] else with_value(request, "params.auth_token", known[0])

    return Mutant(change_incoming=hear)


def _one_after_the_other() -> Mutant:
    over = asyncio.Event()

    async def hear(request: Any) -> Any:
        if isinstance(request, dict) and ASSIGNMENT(request) and request["params"]["match_id"].endswith("M2"):
            over.clear()
            await over.wait()
        return request

    def sent(request: Json, _url: str) -> Json:
        if is_a("MATCH_RESULT_REPORT")(request):
            over.set()
        return request

    return Mutant(change_incoming=hear, change_request=sent)


def _in_real_match(number: int, **limits: float) -> Mutant:
    """Use other limits in the nth match with the limits of the documents."""
    matches: list[str] = []

    def hear(request: Any) -> Any:
        if not isinstance(request, dict) or not ASSIGNMENT(request):
            return request
        if request["params"]["time_limits"]["choice_seconds"] != 30:
            return request
        matches.append(request["params"]["match_id"])
        if len(matches) != number:
            return request
        return with_value(request, "params.time_limits", request["params"]["time_limits"] | limits)

    return Mutant(change_incoming=hear)


MUTANTS: dict[str, Callable[[], Mutant]] = {
    # Fields of messages, each wrong in the first match.
    **{
        check.id: partial(sending, is_a(_MESSAGES[area], match_id=FIRST), path)
        for check in CHECKS
        for area, _, path in [check.id.partition(".")]
        if area in _MESSAGES
    },
    **{
        check.id: partial(sending, REGISTER, path)
        for check in CHECKS
        for area, _, path in [check.id.partition(".")]
        if area == "register"
    },
    **{
        check.id: partial(_first_error, path)
        for check in CHECKS
        for area, _, path in [check.id.partition(".")]
        if area == "error"
    },
    **rpc_mutants(is_a("ROUND_COMPLETED")),
    "register.comes": lambda: dropping(REGISTER),
    **{
        f"{area}.request": partial(_old_rpc, when)
        for area, when in [
            ("register", REGISTER),
            *((area, is_a(kind, match_id=FIRST)) for area, kind in _MESSAGES.items()),
            ("error", ERROR),
        ]
    },
    "register.sender": partial(sending, REGISTER, "sender", "player:P01"),
    "register.even_odd": lambda: sending(REGISTER, "referee_meta.game_types", ["chess"]),
    "reach.ping": lambda: ignoring(lambda request: isinstance(request, dict) and request.get("method") == "ping"),
    "round.begins": lambda: ignoring(ASSIGNMENT),
    "round.announcement": lambda: ignoring(is_a("ROUND_ANNOUNCEMENT")),
    **{
        f"round.{name}": partial(answering, is_a("ROUND_ANNOUNCEMENT"), f"result.{name}")
        for name in ("message_type", "round_id", "referee_id")
    },
    "round.accepted": lambda: answering(ASSIGNMENT, "result.status", "OK"),
    "invitation.both": lambda: dropping(INVITE_B),
    "call.both": lambda: dropping(CALL_B),
    "call.after_both": lambda: _faking(
        INVITE_B, "GAME_JOIN_ACK", arrival_timestamp="2025-01-15T10:30:00Z", accept=True
    ),
    "call.same_time": lambda: delaying(CALL_B, 0.5),
    "call.deadline_fits": lambda: sending(
        is_a("CHOOSE_PARITY_CALL", match_id=FIRST), "deadline", "2031-01-15T10:30:00Z"
    ),
    "over.both": lambda: dropping(once(OVER)),
    "over.drawn_number": lambda: sending(OVER, "game_result.drawn_number", None),
    "over.number_parity": lambda: sending(
        OVER,
        "game_result.number_parity",
        lambda params: "odd" if value_at(params, "game_result.number_parity") == "even" else "even",
    ),
    "over.winner": lambda: sending(OVER, "game_result.winner_player_id", _loser("game_result.winner_player_id")),
    "over.after_both": lambda: _faking(CALL_B, "CHOOSE_PARITY_RESPONSE", parity_choice="odd"),
    "over.same": lambda: sending(once(OVER), "game_result.reason", "so it is"),
    "over.once": lambda: repeating(once(OVER)),
    "over.opens": lambda: sending(OVER, "game_result.draw_nonce", "00"),
    "over.seed": lambda: Mutant(
        change_incoming=lambda request: (
            with_value(request, "params.match_seed", "00" * 32)
            if isinstance(request, dict) and ASSIGNMENT(request) and request["params"]["match_id"] == FIRST
            else request
        )
    ),
    "over.conversation": lambda: sending(OVER, "conversation_id", "conv-another"),
    "over.token": _own_token,
    "report.comes": lambda: Mutant(
        change_request=lambda request, _url: _unreported(request) if REPORT(request) else request
    ),
    "report.drawn_number": lambda: sending(
        REPORT, "result.details.drawn_number", _other_number("result.details.drawn_number")
    ),
    "report.winner": lambda: sending(REPORT, "result.winner", _loser("result.winner")),
    "report.score": lambda: sending(REPORT, "result.score", {"P01": 1, "P02": 1}),
    "report.after_over": lambda: delaying(OVER, 0.5),
    "report.once": lambda: repeating(REPORT),
    "draw.over": lambda: sending(
        once(is_a("GAME_OVER", game_result__status="DRAW")), "game_result.winner_player_id", "P03"
    ),
    "draw.report": lambda: sending(
        once(is_a("MATCH_RESULT_REPORT", result__details__status="DRAW")), "result.score", {"P03": 3, "P04": 0}
    ),
    "error.told": lambda: dropping(is_a("GAME_ERROR", error_code="E004")),
    "wrong.again": lambda: _after_error("E004", _changed("result.details.choices", {})),
    "error.alone": _to_the_other,
    "wrong.every": lambda: sending(
        lambda request: ERROR(request) and value_at(request, "params.context.invalid_choice") == 0, "error_code", "E043"
    ),
    "wrong.other_match": lambda: sending(is_a("GAME_ERROR", error_code="E015"), "error_code", "E044"),
    "wrong.token": lambda: sending(is_a("GAME_ERROR", error_code="E012"), "error_code", "E044"),
    "loss.declined": lambda: _no_winner("REFUSED_INVITATION"),
    "loss.told": lambda: sending(
        once(is_a("GAME_OVER", game_result__status="TECHNICAL_LOSS")), "game_result.status", "WIN"
    ),
    "loss.winner": lambda: sending(
        once(is_a("GAME_OVER", game_result__status="TECHNICAL_LOSS")), "game_result.winner_player_id", None
    ),
    "loss.number": lambda: sending(
        once(is_a("GAME_OVER", game_result__status="TECHNICAL_LOSS")), "game_result.drawn_number", 7
    ),
    "loss.status": lambda: sending(once(_ruled("REFUSED_INVITATION")), "result.details.status", ...),
    "loss.unreachable": lambda: _no_winner("UNREACHABLE"),
    "loss.wrong_choices": lambda: _no_winner("INVALID_ANSWER"),
    "loss.fourth_wrong": lambda: delaying(_ruled("INVALID_ANSWER"), 2.5),
    "loss.both": lambda: sending(_ruled("REFUSED_INVITATION", result__winner=None), "result.winner", "P01"),
    "retry.invitation_loss": lambda: _no_winner("JOIN_TIMEOUT"),
    "retry.invitation_count": lambda: _on_timeout("GAME_JOIN_ACK", "GAME_INVITATION", "A"),
    "retry.invitation_pause": lambda: _hasty("GAME_JOIN_ACK", "GAME_INVITATION"),
    "retry.invitation_told": lambda: sending(
        is_a("GAME_ERROR", error_code="E001", action_required="GAME_JOIN_ACK"), "error_code", "E009"
    ),
    "retry.invitation_other": lambda: _on_timeout("GAME_JOIN_ACK", "GAME_INVITATION", "B"),
    "retry.call_loss": lambda: _no_winner("CHOICE_TIMEOUT"),
    "retry.call_count": lambda: _on_timeout("CHOOSE_PARITY_RESPONSE", "CHOOSE_PARITY_CALL", "A"),
    "retry.call_pause": lambda: _hasty("CHOOSE_PARITY_RESPONSE", "CHOOSE_PARITY_CALL"),
    "retry.call_told": lambda: sending(
        is_a("GAME_ERROR", error_code="E001", action_required="CHOOSE_PARITY_RESPONSE"), "error_code", "E009"
    ),
    "retry.call_other": lambda: _on_timeout("CHOOSE_PARITY_RESPONSE", "CHOOSE_PARITY_CALL", "B"),
    "rubbish.report": lambda: _after_error("E040", _unreported),
    "rubbish.again": lambda: _after_error("E040", _changed("result.details.status", "TECHNICAL_LOSS")),
    "post.join": lambda: refusing(
        lambda request: (
            _posted(match_id=params_of(request).get("match_id"))(request)
            and request["method"] == "game_join_ack"
            and str(params_of(request).get("auth_token", "")).startswith("drv-")
            and params_of(request)["auth_token"] != "drv-made-by-nobody"
            and params_of(request)["match_id"] != "R99M9"
        )
    ),
    "post.choice": lambda: answering(is_a("CHOOSE_PARITY_RESPONSE"), "result.status", "OK"),
    "post.stranger": lambda: accepting(_posted(auth_token="drv-made-by-nobody")),
    "post.token": lambda: _number("choose_parity_response", 4001),
    "post.match": lambda: _number("game_join_ack", 4003),
    "post.wrong_choice": lambda: _number("choose_parity_response", 4004),
    "post.state": lambda: _nth_state_error(1),
    "post.over": lambda: _nth_state_error(2),
    "post.no_token": lambda: answering(_posted(auth_token=...), "error.data.error_code", "E012"),
    "post.late": lambda: _number("choose_parity_response", -1),
    "repeat.assignment": _second_assignment,
    "repeat.report": lambda: _believing(-32603),
    "repeat.lost_report": lambda: _believing(None),
    "repeat.duplicate": _insisting,
    "repeat.stranger": _trusting,
    "several.two": _one_after_the_other,
    "limits.slow_player": lambda: _in_real_match(1, choice_seconds=20),
    "limits.invitation": lambda: _in_real_match(2, join_seconds=4),
    "limits.call": lambda: _in_real_match(3, retry_seconds=1),
    "end.answer": lambda: ignoring(is_a("LEAGUE_COMPLETED")),
    **{
        f"end.{name}": partial(answering, is_a("LEAGUE_COMPLETED"), f"result.{name}")
        for name in ("message_type", "status", "referee_id")
    },
    "end.exit": lambda: Mutant(keeps_running=True),
}
