"""Checks as such: their order, what rests on what, and that nothing an agent says can harm who reads the report."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from xml.etree import ElementTree as ET

import pytest

from leaguekit.kit import report as reports
from leaguekit.kit.checks import (
    MAX_SHOWN,
    USUAL,
    Area,
    Check,
    CheckSettings,
    Evidence,
    Failed,
    NotRun,
    Outcome,
    Unfit,
    examine,
    place_of,
)
from leaguekit.kit.report import Report
from leaguekit.sim import loop

Scene = list[str]
TOKEN = f"tok-p01-{'x' * 43}"
HOSTILE = f"\x1b[2J\u202e{TOKEN}\n\x00" + "y" * 100_000


def _look(name: str, what: Exception | None = None) -> Callable[[Scene], Awaitable[Evidence]]:
    async def look(scene: Scene) -> Evidence:
        scene.append(name)
        if what is not None:
            raise what
        return Evidence("sent", "came", "expected")

    return look


def _area() -> Area[Scene]:
    """Passes, fails, is not run, and what rests on each of them."""
    area: Area[Scene] = Area("one", "One area")
    passes = area.required("passes", "It passes.", "000-L0001")(_look("passes"))
    fails = area.required("fails", "It fails.", "000-L0002", "decision 3")(
        _look("fails", Failed(Evidence(HOSTILE, HOSTILE, "something else")))
    )
    says_nothing = area.required("nothing", "It says nothing.", "000-L0003")(
        _look("nothing", NotRun("not for this one"))
    )
    area.recommended("after_passed", "After what passed.", "000-L0004", needs=[passes])(_look("after_passed"))
    after_failed = area.required("after_failed", "After what failed.", "000-L0005", needs=[fails])(
        _look("after_failed")
    )
    area.required("after_that", "And after that.", "000-L0006", needs=[passes, after_failed])(_look("after_that"))
    area.required("after_nothing", "After what said nothing.", "000-L0007", needs=[says_nothing])(
        _look("after_nothing")
    )
    area.recommended("advice", "It would be better.", "000-L0008")(_look("advice", Failed(Evidence("a", "b", "c"))))
    area.required("slow", "It takes its time.", "000-L0009", full=True)(_look("slow"))
    return area


def _examined(checks: list[Check[Scene]], terms: CheckSettings = USUAL) -> tuple[Scene, list[Outcome]]:
    scene: Scene = []
    return scene, loop.run(examine(checks, scene, terms))


def test_checks_are_made_in_order_and_not_where_they_rest_on_one_that_failed() -> None:
    scene, outcomes = _examined(_area().checks)
    assert scene == ["passes", "fails", "nothing", "after_passed", "after_nothing", "advice"]
    assert [one.state for one in outcomes] == [
        *("passed", "failed", "not run", "passed"),
        *("not run", "not run", "passed", "failed", "not run"),
    ]
    reasons = {one.check.id: one.reason for one in outcomes if one.state == "not run"}
    assert reasons == {
        "one.nothing": "not for this one",
        "one.after_failed": "it rests on one.fails, which failed",
        "one.after_that": "it rests on one.fails, which failed",
        "one.slow": "it takes its time and is made with --full only",
    }


def test_what_takes_its_time_is_made_when_it_is_asked_for() -> None:
    scene, _ = _examined(_area().checks, CheckSettings(full=True))
    assert scene[-1] == "slow"


def test_outcomes_are_told_as_they_come() -> None:
    told: list[str] = []
    loop.run(examine(_area().checks, [], CheckSettings(heard=lambda outcome: told.append(outcome.check.id))))
    assert told == [check.id for check in _area().checks]


def test_what_agents_say_is_shown_short_harmless_and_without_tokens() -> None:
    _, outcomes = _examined(_area().checks)
    for text in outcomes[1].evidence[:2]:
        assert len(text) <= MAX_SHOWN + 1
        assert text.isprintable()
        assert TOKEN not in text
        assert "\u202e" not in text


def test_a_fault_of_the_kit_is_not_held_against_the_agent() -> None:
    area: Area[Scene] = Area("one", "One area")
    area.required("broken", "It is broken.", "000-L0001")(_look("broken", KeyError("no such thing")))
    _, (outcome,) = _examined(area.checks)
    assert (outcome.state, outcome.reason) == ("not run", "the kit itself failed: KeyError('no such thing')")
    report = Report("player", "P", [outcome])
    assert report.exit_code == 2
    assert "could not do its work" in _text(report)
    assert ET.fromstring(reports.as_junit(report)).get("errors") == "1"


def _text(report: Report) -> str:
    """The whole report as a terminal shows it."""
    telling = reports.TextReport()
    lines = [line for outcome in report.outcomes for line in telling.tell(outcome)]
    return "\n".join([*lines, *telling.rest(), *reports.summary(report)])


def test_an_agent_that_is_in_no_state_to_be_checked_is_not_judged() -> None:
    area: Area[Scene] = Area("one", "One area")
    unfit = area.required("ready", "It is ready.", "000-L0001")(_look("ready", Unfit("it has begun; take another")))
    after = area.required("after", "It plays.", "000-L0001", needs=[unfit])(_look("after"))
    area.required("last", "It ends.", "000-L0001", needs=[after])(_look("last"))
    scene, outcomes = _examined(area.checks)
    assert scene == ["ready"]
    assert [one.reason for one in outcomes[1:]] == ["it rests on one.ready, which could not be told"] * 2
    report = Report("manager", "M", outcomes)
    assert report.exit_code == 2
    assert _text(report).endswith("this says nothing certain about M: it has begun; take another.")


@pytest.fixture
def report() -> Report:
    return Report("player", "Nasty \x1b[31m", _examined(_area().checks)[1])


def test_the_exit_code_is_decided_by_what_is_required(report: Report) -> None:
    assert report.exit_code == 1
    assert Report("player", "P", [one for one in report.outcomes if one.check.id != "one.fails"]).exit_code == 0


def test_the_text_has_a_mark_the_sentence_and_the_source_of_each_check(report: Report) -> None:
    lines = _text(report).splitlines()
    assert lines[:4] == [
        "One area",
        "  ✓ It passes. (one.passes: 000-L0001)",
        "  ✗ It fails. (one.fails: 000-L0002, decision 3)",
        lines[3],
    ]
    assert lines[3].startswith("      sent:     ")
    assert "      expected: something else" in lines
    assert "  · It says nothing. (one.nothing: 000-L0003)" in lines
    assert "      not run: not for this one" in lines
    assert "  ! It would be better. (recommended, one.advice: 000-L0008)" in lines


def test_checks_in_a_row_that_were_not_run_for_one_reason_are_told_as_one() -> None:
    one, two = Area[Scene]("one", "One area"), Area[Scene]("two", "Another")
    fails = one.required("fails", "It fails.", "000-L0001")(_look("fails", Failed(Evidence(came="x"))))
    for area in (one, one, two, two):
        name = f"after{len(area.checks)}"
        area.required(name, "It rests.", "000-L0001", needs=[fails])(_look(name))
    two.required("passes", "It passes.", "000-L0001")(_look("passes"))
    two.required("other", "It is alone.", "000-L0001", needs=[fails])(_look("other"))
    _, outcomes = _examined([*one.checks, *two.checks])
    assert _text(Report("player", "P", outcomes)).splitlines()[3:10] == [
        "  · 4 checks, one.after1 to two.after1",
        "      not run: it rests on one.fails, which failed",
        "Another",
        "  ✓ It passes. (two.passes: 000-L0001)",
        "  · It is alone. (two.other: 000-L0001)",
        "      not run: it rests on one.fails, which failed",
        "(000-L0524 is line 524 of document 000; a decision is one of docs/why.md)",
    ]


def test_the_summary_keeps_what_is_required_apart_from_what_is_recommended(report: Report) -> None:
    assert [*reports.summary(report)][1:] == [
        "required:    2 passed, 1 failed, 4 not run",
        "             one.fails: It fails.",
        "recommended: 1 passed, 1 failed, 0 not run",
        "             one.advice: It would be better.",
        "NOT OK: Nasty �[31m does not conform to league.v2; 1 of what is required failed.",
    ]


def test_nothing_in_a_report_moves_a_terminal(report: Report) -> None:
    for text in (_text(report), reports.as_json(report), reports.as_junit(report).decode()):
        assert "\x1b" not in text
        assert TOKEN not in text


def test_the_json_has_everything(report: Report) -> None:
    told = json.loads(reports.as_json(report))
    assert (told["role"], told["ok"], told["exit_code"]) == ("player", False, 1)
    assert told["counts"]["required"] == {"passed": 2, "failed": 1, "not_run": 4}
    failed = told["checks"][1]
    assert failed["requirements"] == [
        {"id": "000-L0002", "where": "document 000, line 2"},
        {"id": "decision 3", "where": "decision 3"},
    ]
    assert (failed["state"], failed["expected"]) == ("failed", "something else")


def test_a_build_breaks_only_for_what_is_required(report: Report) -> None:
    suite = ET.fromstring(reports.as_junit(report))
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped", "errors")} == {
        "tests": "9",
        "failures": "1",
        "skipped": "5",
        "errors": "0",
    }
    failures = [case for case in suite if case.find("failure") is not None]
    assert [case.get("name") for case in failures] == ["one.fails: It fails."]


@pytest.mark.parametrize(
    ("requirement", "place"),
    [("000-L0524", "document 000, line 524"), ("003-L0198c", "document 003, line 198"), ("decision 7", "decision 7")],
)
def test_a_requirement_is_shown_with_its_place(requirement: str, place: str) -> None:
    assert place_of(requirement) == place
