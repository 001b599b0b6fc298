"""What a check is: one sentence about an agent, the requirements behind it, and a look at the agent that tells.

Area      checks about one matter, in the order in which they are made
Check     one sentence; looking returns evidence, or raises Failed or NotRun
Outcome   what came of it: passed, failed or not run, and on what evidence
Terms     how long is waited, what is checked, and who hears how it goes
examine   make checks of an agent one after the other; one that rests on another is made only if that one passed
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from leaguekit.protocol.plain_text import harmless
from leaguekit.protocol.tokens import redacted

SceneT = TypeVar("SceneT")
State = Literal["passed", "failed", "not run"]

# Of what was sent and what came, so much is shown.
MAX_SHOWN = 1_000
# Every wait of a check has a limit of its own; this one is for a check that has none by mistake.
MAX_SECONDS = 300.0
_DOCUMENT = re.compile(r"(\d{3})-L0*(\d+)[a-z]?")

log = logging.getLogger(__name__)


class Evidence(NamedTuple):
    """What a check rests on. The texts may come from the agent and be anything; outcomes show them made harmless."""

    sent: str = ""
    came: str = ""
    expected: str = ""


class Failed(Exception):
    """The agent is not as the sentence says."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        super().__init__(evidence.came)


class NotRun(Exception):
    """The check says nothing about this agent; the text says why."""


class Unfit(NotRun):
    """The agent is in no state to be checked, so that nothing which rests on this is run; the text says what to do."""


Look = Callable[[SceneT], Awaitable[Evidence]]


@dataclass(frozen=True, eq=False)
class Check(Generic[SceneT]):
    """One sentence about an agent. ``full`` checks take their time, and are made only when they are asked for."""

    id: str
    sentence: str
    requirements: tuple[str, ...]
    area: str
    is_required: bool
    needs: tuple[Check[SceneT], ...]
    full: bool
    look: Look[SceneT]


class Area(Generic[SceneT]):
    """The checks about one matter. ``name`` is the first part of their ids, ``title`` their heading."""

    def __init__(self, name: str, title: str) -> None:
        self.name = name
        self.title = title
        self.checks: list[Check[SceneT]] = []

    def required(
        self, name: str, sentence: str, *requirements: str, needs: Iterable[Check[SceneT]] = (), full: bool = False
    ) -> Callable[[Look[SceneT]], Check[SceneT]]:
        """A check of what a document demands and others rely on: without it an agent does not play."""
        return self._check(name, sentence, requirements, tuple(needs), full, is_required=True)

    def recommended(
        self, name: str, sentence: str, *requirements: str, needs: Iterable[Check[SceneT]] = (), full: bool = False
    ) -> Callable[[Look[SceneT]], Check[SceneT]]:
        """A check of what a document asks for, but an agent can play without."""
        return self._check(name, sentence, requirements, tuple(needs), full, is_required=False)

    def _check(
        self,
        name: str,
        sentence: str,
        requirements: tuple[str, ...],
        needs: tuple[Check[SceneT], ...],
        full: bool,
        *,
        is_required: bool,
    ) -> Callable[[Look[SceneT]], Check[SceneT]]:
        def made(look: Look[SceneT]) -> Check[SceneT]:
            check = Check(f"{self.name}.{name}", sentence, requirements, self.title, is_required, needs, full, look)
            self.checks.append(check)
            return check

        return made


class Outcome(NamedTuple):
    """What came of a check. ``reason`` is why it was not run; ``is_our_fault`` if the kit could not do its work.

    ``root`` is the id of the check that failed, or found the agent unfit, and on which this one rests.
    """

    check: Check[Any]
    state: State
    evidence: Evidence
    reason: str = ""
    seconds: float = 0.0
    is_our_fault: bool = False
    root: str = ""


class CheckSettings(NamedTuple):
    """On what terms an agent is checked."""

    # How many seconds somebody is waited for.
    patience: float = 60.0
    # Whether also what takes its time is checked.
    full: bool = False
    # Hears how it goes.
    tell: Callable[[str], None] = lambda _text: None
    # Hears of each outcome as soon as it is there.
    heard: Callable[[Outcome], None] = lambda _outcome: None


USUAL = CheckSettings()


async def examine(checks: Sequence[Check[SceneT]], scene: SceneT, terms: CheckSettings = USUAL) -> list[Outcome]:
    """Make checks in their order."""
    outcomes: dict[str, Outcome] = {}
    for check in checks:
        outcome = _without_looking(check, outcomes, terms.full) or await _looked(check, scene)
        outcomes[check.id] = outcome
        terms.heard(outcome)
    return [*outcomes.values()]


def _without_looking(check: Check[SceneT], before: dict[str, Outcome], full: bool) -> Outcome | None:
    if check.full and not full:
        return _not_run(check, "it takes its time and is made with --full only")
    for need in check.needs:
        outcome = before[need.id]
        # One that says nothing about this agent keeps nobody from looking.
        if root := need.id if outcome.state == "failed" else outcome.root:
            what = "failed" if before[root].state == "failed" else "could not be told"
            return _not_run(check, f"it rests on {root}, which {what}")._replace(root=root)
    return None


async def _looked(check: Check[SceneT], scene: SceneT) -> Outcome:
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        async with asyncio.timeout(MAX_SECONDS):
            evidence = await check.look(scene)
        outcome = Outcome(check, "passed", _shown(evidence))
    except Failed as failed:
        outcome = Outcome(check, "failed", _shown(failed.evidence))
    except Unfit as unfit:
        outcome = _not_run(check, str(unfit), is_our_fault=True)._replace(root=check.id)
    except NotRun as not_run:
        outcome = _not_run(check, str(not_run))
    except Exception as error:
        # Whatever an agent does, a check has to know what it means; if it does not, that says nothing of the agent.
        log.exception("the check %s failed to look", check.id)
        outcome = _not_run(check, f"the kit itself failed: {error!r}", is_our_fault=True)
    return outcome._replace(seconds=loop.time() - began)


def _not_run(check: Check[Any], reason: str, *, is_our_fault: bool = False) -> Outcome:
    return Outcome(check, "not run", Evidence(), plain(reason), is_our_fault=is_our_fault)


def _shown(evidence: Evidence) -> Evidence:
    return Evidence(*map(plain, evidence))


def plain(text: str) -> str:
    """A text as a report shows it: on one line, without tokens, and not too long."""
    # Cut before it is made plain, for an agent may send a megabyte; once more after, for signs may become longer.
    shown = harmless(redacted(text[: 2 * MAX_SHOWN]))
    return shown if len(shown) <= MAX_SHOWN and len(text) <= 2 * MAX_SHOWN else f"{shown[:MAX_SHOWN]}…"


def place_of(requirement: str) -> str:
    """Where a requirement stands, for people: its document and line, or our own decision."""
    found = _DOCUMENT.fullmatch(requirement)
    return f"document {found[1]}, line {found[2]}" if found else requirement
