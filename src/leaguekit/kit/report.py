"""The report of all checks: text for people, JSON for programs, and JUnit XML for build servers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

from leaguekit.kit.checks import NO_ANSWER, NOTHING_CAME, Outcome, State, source_of
from leaguekit.protocol.plain_text import escaped, sanitize_line

MARKS: dict[State, str] = {"passed": "✓", "failed": "✗", "not run": "·"}
# The mark of a recommended check that failed. The agent can still play.
RECOMMENDATION = "!"


@dataclass(frozen=True)
class Report:
    """The outcomes of all checks of one agent, in their order. ``subject`` is the name of the agent.

    ``remark`` is a clause that the conclusion adds. It is safe to print.
    """

    role: str
    subject: str
    outcomes: Sequence[Outcome]
    remark: str = ""

    def count(self, state: State, *, is_required: bool) -> int:
        return sum(one.state == state and one.check.is_required is is_required for one in self.outcomes)

    @property
    def exit_code(self) -> int:
        """0 if no required check failed, 1 if one failed, 2 if the kit could not check the agent."""
        if self.obstacle:
            return 2
        return 1 if self.count("failed", is_required=True) else 0

    @property
    def obstacle(self) -> str:
        """Why the kit could not check the agent; empty if it could."""
        return next((one.reason for one in self.outcomes if one.is_our_fault), "") or self._absence

    @property
    def _absence(self) -> str:
        """How it is known that no agent was there; empty if one was."""
        came = [one.evidence.came for one in self.outcomes if one.state == "failed"]
        is_absent = len(came) == 1 and came[0].startswith((NOTHING_CAME, NO_ANSWER))
        if not is_absent or any(one.state == "passed" for one in self.outcomes):
            return ""
        return f"no {self.role} was there. Came: {came[0]}"


class TextReport:
    """Formats outcomes as lines for a terminal while the checks run, under the titles of their areas.

    Successive checks that were not run for the same reason are one line, so that failures are easy to find.
    """

    def __init__(self) -> None:
        self._area = ""
        self._not_run: list[Outcome] = []

    def lines_for(self, outcome: Outcome) -> Iterator[str]:
        """Return the lines that can be printed after an outcome."""
        if self._not_run and outcome.reason != self._not_run[0].reason:
            yield from self.remaining_lines()
        if not self._not_run and outcome.check.area != self._area:
            self._area = outcome.check.area
            yield self._area
        if outcome.state == "not run":
            self._not_run.append(outcome)
        else:
            yield _line(outcome)
            yield from _details(outcome)

    def remaining_lines(self) -> Iterator[str]:
        """Return the lines about checks that were not run, which ``lines_for`` has kept."""
        held, self._not_run = self._not_run, []
        if len(held) > 1:
            yield f"  {MARKS['not run']} {len(held)} checks, {held[0].check.id} to {held[-1].check.id}"
        elif held:
            yield _line(held[0])
        if held:
            yield from _details(held[0])


def _line(outcome: Outcome) -> str:
    """Return an outcome as one line: the mark, the sentence, the id of the check, and its requirements."""
    check = outcome.check
    mark = RECOMMENDATION if outcome.state == "failed" and not check.is_required else MARKS[outcome.state]
    kind = "" if check.is_required else "recommended, "
    return f"  {mark} {check.sentence} ({kind}{check.id}: {', '.join(check.requirements)})"


def _details(outcome: Outcome) -> Iterator[str]:
    """Return the reason why a check was not run, or the evidence of a failure."""
    if outcome.state == "not run":
        yield f"      not run: {outcome.reason}"
    if outcome.state == "failed":
        for name, text in outcome.evidence._asdict().items():
            if text:
                yield f"      {name + ':':<9} {text}"


def summary(report: Report) -> Iterator[str]:
    """Return the last lines of the text: required and recommended checks, with failures, and the conclusion."""
    yield "(000-L0524 is line 524 of document 000; a decision is one of docs/why.md)"
    for is_required, kind in ((True, "required"), (False, "recommended")):
        counts = [f"{report.count(state, is_required=is_required)} {state}" for state in MARKS]
        yield f"{kind + ':':<13}{', '.join(counts)}"
        for one in report.outcomes:
            if one.state == "failed" and one.check.is_required is is_required:
                yield f"{'':<13}{one.check.id}: {one.check.sentence}"
    failed = report.count("failed", is_required=True)
    name = sanitize_line(report.subject)
    if report.obstacle:
        yield f"The kit could not do its work, so this says nothing certain about {name}: {report.obstacle}."
        return
    remark = f" But {report.remark}." if report.remark else ""
    if failed:
        yield f"NOT OK: {name} does not conform to league.v2; {failed} of what is required failed.{remark}"
    else:
        yield f"OK{' by the protocol' * bool(remark)}: nothing that is required of {name} failed.{remark}"


def as_json(report: Report) -> str:
    """Return one JSON object on one line, without characters that control a terminal."""
    counts = {
        kind: {state.replace(" ", "_"): report.count(state, is_required=is_required) for state in MARKS}
        for kind, is_required in (("required", True), ("recommended", False))
    }
    fields = {
        "role": report.role,
        "subject": report.subject,
        "ok": report.exit_code == 0,
        "exit_code": report.exit_code,
        "counts": counts,
        "checks": [_check_fields(outcome) for outcome in report.outcomes],
    }
    return escaped(json.dumps(fields, ensure_ascii=False))


def _check_fields(outcome: Outcome) -> dict[str, Any]:
    check = outcome.check
    return {
        "id": check.id,
        "area": check.area,
        "sentence": check.sentence,
        "required": check.is_required,
        "requirements": [{"id": one, "where": source_of(one)} for one in check.requirements],
        "state": outcome.state,
        "reason": outcome.reason or None,
        **outcome.evidence._asdict(),
        "seconds": round(outcome.seconds, 3),
    }


def as_junit(report: Report) -> bytes:
    """Return a JUnit test suite. A recommended check that failed counts as skipped."""
    name = f"league check {report.role}"
    suite = ET.Element("testsuite", name=name, hostname=sanitize_line(report.subject))
    counts = {"failure": 0, "skipped": 0, "error": 0}
    for outcome in report.outcomes:
        check = outcome.check
        case = ET.SubElement(
            suite, "testcase", classname=name, name=f"{check.id}: {check.sentence}", time=f"{outcome.seconds:.3f}"
        )
        text = "\n".join([_sources(outcome), *map(str.strip, _details(outcome))])
        if outcome.state == "passed":
            continue
        is_failure = outcome.state == "failed" and check.is_required
        kind = "error" if outcome.is_our_fault else "failure" if is_failure else "skipped"
        counts[kind] += 1
        message = outcome.reason or ("recommended" if not check.is_required else outcome.evidence.expected)
        ET.SubElement(case, kind, message=message).text = text
    suite.set("tests", str(len(report.outcomes)))
    suite.set("time", f"{sum(outcome.seconds for outcome in report.outcomes):.3f}")
    for attribute, count in zip(("failures", "skipped", "errors"), counts.values(), strict=True):
        suite.set(attribute, str(count))
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True))


def _sources(outcome: Outcome) -> str:
    return "; ".join(f"{one}: {source_of(one)}" if source_of(one) != one else one for one in outcome.check.requirements)
