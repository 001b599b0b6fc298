"""Checks of an agent, and the loop that runs them.

Check          one sentence about an agent, its requirements, and a function that returns evidence
Area           the checks about one topic, in the order in which they run
Outcome        the result of a check: passed, failed or not run
CheckSettings  how long the kit waits, which checks run, and callbacks for progress
run_checks     run checks one after the other; skip those that need a check which failed
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.protocol.tokens import redact

HarnessT = TypeVar("HarnessT")
State = Literal["passed", "failed", "not run"]

# The most characters that a report shows of a request or an answer.
MAX_DISPLAYED = 1_000
# Every wait in a check has its own limit. This limit is for a check that has none by mistake. A league of four players
# has at most 20 rounds, and each is announced a minute before its matches.
MAX_SECONDS = 1_800.0
# The evidence that an agent sent nothing, and that it did not answer.
NOTHING_CAME, NO_ANSWER = "nothing at all", "no answer"
_DOCUMENT = re.compile(r"(\d{3})-L0*(\d+)[a-z]?")

log = logging.getLogger(__name__)


class Evidence(NamedTuple):
    """What a check has seen. The texts may come from the agent; those of an Outcome are safe to print."""

    sent: str = ""
    came: str = ""
    expected: str = ""


class Failed(Exception):
    """The sentence of the check is not true of the agent."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        super().__init__(evidence.came)


def fail_if(is_wrong: bool, evidence: Evidence) -> Evidence:
    """Raise Failed if something is wrong; else return the evidence."""
    if is_wrong:
        raise Failed(evidence)
    return evidence


class NotRun(Exception):
    """The check does not apply to this agent. The text gives the reason."""


class NotCheckable(NotRun):
    """The agent cannot be checked in its present state. The text says what to do.

    No check runs that needs this one.
    """


CheckFunction = Callable[[HarnessT], Awaitable[Evidence]]


@dataclass(frozen=True, eq=False)
class Check(Generic[HarnessT]):
    """One sentence about an agent. A ``full`` check is slow, and runs only with ``--full``."""

    id: str
    sentence: str
    requirements: tuple[str, ...]
    area: str
    is_required: bool
    needs: tuple[Check[HarnessT], ...]
    full: bool
    function: CheckFunction[HarnessT]


Decorator = Callable[[CheckFunction[HarnessT]], Check[HarnessT]]


class Area(Generic[HarnessT]):
    """The checks about one topic. ``name`` is the first part of their ids, ``title`` is their heading."""

    def __init__(self, name: str, title: str) -> None:
        self.name = name
        self.title = title
        self.checks: list[Check[HarnessT]] = []

    def required(self, *requirements: str, **options: Any) -> Decorator[HarnessT]:
        """Add a check of a rule that a document sets and other agents rely on. An agent that fails it cannot play."""
        return self.check(*requirements, is_required=True, **options)

    def recommended(self, *requirements: str, **options: Any) -> Decorator[HarnessT]:
        """Add a check of a rule that a document sets, but without which an agent can play."""
        return self.check(*requirements, is_required=False, **options)

    def check(
        self,
        *requirements: str,
        is_required: bool,
        name: str = "",
        sentence: str = "",
        needs: Iterable[Check[HarnessT]] = (),
        full: bool = False,
        **words: object,
    ) -> Decorator[HarnessT]:
        """Add the decorated function as a check. Its name is the last part of the id, its docstring is the sentence.

        ``words`` and the constants of the module replace their names in braces in the docstring.
        """

        def add(function: CheckFunction[HarnessT]) -> Check[HarnessT]:
            check_id = f"{self.name}.{name or function.__name__}"
            text = sentence or " ".join((function.__doc__ or "").split())
            if text and (unused := [word for word in words if f"{{{word}" not in text]):
                raise TypeError(f"{check_id}: {', '.join(unused)} is neither an option nor a word of the sentence")
            text = sentence or text.format_map(getattr(function, "__globals__", {}) | words)
            check = Check(check_id, text, requirements, self.title, is_required, (*needs,), full, function)
            self.checks.append(check)
            return check

        return add


class Outcome(NamedTuple):
    """The result of a check. ``reason`` is why it was not run.

    ``is_our_fault`` says that the kit itself failed, or could not check the agent in its present state.
    ``blocked_by`` is the id of the check because of which this one was not run.
    """

    check: Check[Any]
    state: State
    evidence: Evidence
    reason: str = ""
    seconds: float = 0.0
    is_our_fault: bool = False
    blocked_by: str = ""


class CheckSettings(NamedTuple):
    """How an agent is checked."""

    # How long the kit waits for the agent to register, and for a league to start.
    timeout_seconds: float = 60.0
    # Whether the slow checks run too.
    full: bool = False
    # Is called with a text for the person at the terminal.
    on_progress: Callable[[str], None] = lambda _text: None
    # Is called with each outcome as soon as the check has run.
    on_outcome: Callable[[Outcome], None] = lambda _outcome: None


DEFAULTS = CheckSettings()


async def run_checks(
    checks: Sequence[Check[HarnessT]], harness: HarnessT, settings: CheckSettings = DEFAULTS
) -> list[Outcome]:
    """Run checks in their order."""
    outcomes: dict[str, Outcome] = {}
    for check in checks:
        outcome = _skipped(check, outcomes, settings.full) or await _run(check, harness)
        outcomes[check.id] = outcome
        settings.on_outcome(outcome)
    return [*outcomes.values()]


def _skipped(check: Check[HarnessT], before: dict[str, Outcome], full: bool) -> Outcome | None:
    if check.full and not full:
        return _not_run(check, "it takes its time and is made with --full only")
    for need in check.needs:
        outcome = before[need.id]
        # A check that does not apply to this agent does not block others.
        if blocked_by := need.id if outcome.state == "failed" else outcome.blocked_by:
            what = "failed" if before[blocked_by].state == "failed" else "could not be decided"
            return _not_run(check, f"it rests on {blocked_by}, which {what}")._replace(blocked_by=blocked_by)
    return None


async def _run(check: Check[HarnessT], harness: HarnessT) -> Outcome:
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        async with asyncio.timeout(MAX_SECONDS):
            evidence = await check.function(harness)
        outcome = Outcome(check, "passed", _displayed(evidence))
    except Failed as failed:
        outcome = Outcome(check, "failed", _displayed(failed.evidence))
    except NotCheckable as not_checkable:
        outcome = _not_run(check, str(not_checkable), is_our_fault=True)._replace(blocked_by=check.id)
    except NotRun as not_run:
        outcome = _not_run(check, str(not_run))
    except Exception as error:
        # A check must handle anything that an agent does. An exception is a fault of the check, not of the agent.
        log.exception("the check %s raised an exception", check.id)
        outcome = _not_run(check, f"the kit itself failed: {error!r}", is_our_fault=True)
    return outcome._replace(seconds=loop.time() - began)


def _not_run(check: Check[Any], reason: str, *, is_our_fault: bool = False) -> Outcome:
    return Outcome(check, "not run", Evidence(), display(reason), is_our_fault=is_our_fault)


def _displayed(evidence: Evidence) -> Evidence:
    return Evidence(*map(display, evidence))


def display(text: str) -> str:
    """Return a text in a form that is safe to print: on one line, without tokens, cut if it is long."""
    # Cut first, because an agent may send a megabyte. Cut again, because escaped characters are longer.
    safe = sanitize_line(redact(text[: 2 * MAX_DISPLAYED]))
    is_whole = len(safe) <= MAX_DISPLAYED and len(text) <= 2 * MAX_DISPLAYED
    return safe if is_whole else f"{safe[:MAX_DISPLAYED]}…"


def source_of(requirement: str) -> str:
    """Return the source of a requirement for people: its document and line, or our decision."""
    found = _DOCUMENT.fullmatch(requirement)
    return f"document {found[1]}, line {found[2]}" if found else requirement
