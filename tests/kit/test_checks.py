"""Running checks: their order, which checks block others, and that reports are safe to print."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from xml.etree import ElementTree as ET

import pytest

from leaguekit.kit import report as reports
from leaguekit.kit.checks import (
    DEFAULTS,
    MAX_DISPLAYED,
    Area,
    Check,
    CheckSettings,
    Evidence,
    Failed,
    NotCheckable,
    NotRun,
    Outcome,
    run_checks,
    source_of,
)
from leaguekit.kit.report import Report
from leaguekit.sim import loop

Performed = list[str]
TOKEN = f"tok-p01-{'x' * 43}"
HOSTILE = f"\x1b[2J\u202e{TOKEN}\n\x00" + "y" * 100_000


def _check_named(name: str, what: Exception | None = None) -> Callable[[Performed], Awaitable[Evidence]]:
    async def check(performed: Performed) -> Evidence:
        performed.append(name)
        if what is not None:
            raise what
        return Evidence("sent", "came", "expected")

    return check


def _area() -> Area[Performed]:
    """Return an area with a check that passes, one that fails, one that is not run, and checks that need them."""
    area: Area[Performed] = Area("one", "One area")
    passes = area.required("000-L0001", name="passes", sentence="It passes.")(_check_named("passes"))
    fails = area.required("000-L0002", "decision 3", name="fails", sentence="It fails.")(
        _check_named("fails", Failed(Evidence(HOSTILE, HOSTILE, "something else")))
    )
    says_nothing = area.required("000-L0003", name="nothing", sentence="It says nothing.")(
        _check_named("nothing", NotRun("not for this one"))
    )
    area.recommended("000-L0004", name="after_passed", sentence="After what passed.", needs=[passes])(
        _check_named("after_passed")
    )
    after_failed = area.required("000-L0005", name="after_failed", sentence="After what failed.", needs=[fails])(
        _check_named("after_failed")
    )
    area.required("000-L0006", name="after_that", sentence="And after that.", needs=[passes, after_failed])(
        _check_named("after_that")
    )
    area.required("000-L0007", name="after_nothing", sentence="After what said nothing.", needs=[says_nothing])(
        _check_named("after_nothing")
    )
    area.recommended("000-L0008", name="advice", sentence="It would be better.")(
        _check_named("advice", Failed(Evidence("a", "b", "c")))
    )
    area.required("000-L0009", name="slow", sentence="It takes its time.", full=True)(_check_named("slow"))
    return area


def _run(checks: list[Check[Performed]], settings: CheckSettings = DEFAULTS) -> tuple[Performed, list[Outcome]]:
    performed: Performed = []
    return performed, loop.run(run_checks(checks, performed, settings))


def test_checks_are_made_in_order_and_not_where_they_rest_on_one_that_failed() -> None:
    performed, outcomes = _run(_area().checks)
    assert performed == ["passes", "fails", "nothing", "after_passed", "after_nothing", "advice"]
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
    performed, _ = _run(_area().checks, CheckSettings(full=True))
    assert performed[-1] == "slow"


def test_outcomes_are_told_as_they_come() -> None:
    ids: list[str] = []
    loop.run(run_checks(_area().checks, [], CheckSettings(on_outcome=lambda outcome: ids.append(outcome.check.id))))
    assert ids == [check.id for check in _area().checks]


def test_what_agents_say_is_shown_short_harmless_and_without_tokens() -> None:
    _, outcomes = _run(_area().checks)
    for text in outcomes[1].evidence[:2]:
        assert len(text) <= MAX_DISPLAYED + 1
        assert text.isprintable()
        assert TOKEN not in text
        assert "\u202e" not in text


def test_a_fault_of_the_kit_is_not_held_against_the_agent() -> None:
    area: Area[Performed] = Area("one", "One area")
    area.required("000-L0001", name="broken", sentence="It is broken.")(
        _check_named("broken", KeyError("no such thing"))
    )
    _, (outcome,) = _run(area.checks)
    assert (outcome.state, outcome.reason) == ("not run", "the kit itself failed: KeyError('no such thing')")
    report = Report("player", "P", [outcome])
    assert report.exit_code == 2
    assert "could not do its work" in _text(report)
    assert ET.fromstring(reports.as_junit(report)).get("errors") == "1"


def _text(report: Report) -> str:
    """Return the whole report as a terminal shows it."""
    text = reports.TextReport()
    lines = [line for outcome in report.outcomes for line in text.lines_for(outcome)]
    return "\n".join([*lines, *text.remaining_lines(), *reports.summary(report)])


def test_an_agent_that_is_in_no_state_to_be_checked_is_not_judged() -> None:
    area: Area[Performed] = Area("one", "One area")
    unfit = area.required("000-L0001", name="ready", sentence="It is ready.")(
        _check_named("ready", NotCheckable("it has begun; take another"))
    )
    after = area.required("000-L0001", name="after", sentence="It plays.", needs=[unfit])(_check_named("after"))
    area.required("000-L0001", name="last", sentence="It ends.", needs=[after])(_check_named("last"))
    performed, outcomes = _run(area.checks)
    assert performed == ["ready"]
    assert [one.reason for one in outcomes[1:]] == ["it rests on one.ready, which could not be decided"] * 2
    report = Report("manager", "M", outcomes)
    assert report.exit_code == 2
    assert _text(report).endswith("this says nothing certain about M: it has begun; take another.")


@pytest.fixture
def report() -> Report:
    return Report("player", "Nasty \x1b[31m", _run(_area().checks)[1])


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
    one, two = Area[Performed]("one", "One area"), Area[Performed]("two", "Another")
    fails = one.required("000-L0001", name="fails", sentence="It fails.")(
        _check_named("fails", Failed(Evidence(came="x")))
    )
    for area in (one, one, two, two):
        name = f"after{len(area.checks)}"
        area.required("000-L0001", name=name, sentence="It rests.", needs=[fails])(_check_named(name))
    two.required("000-L0001", name="passes", sentence="It passes.")(_check_named("passes"))
    two.required("000-L0001", name="other", sentence="It is alone.", needs=[fails])(_check_named("other"))
    _, outcomes = _run([*one.checks, *two.checks])
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
    fields = json.loads(reports.as_json(report))
    assert (fields["role"], fields["ok"], fields["exit_code"]) == ("player", False, 1)
    assert fields["counts"]["required"] == {"passed": 2, "failed": 1, "not_run": 4}
    failed = fields["checks"][1]
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
    assert source_of(requirement) == place


LIMIT_SECONDS = 2.5


def test_a_check_has_its_id_from_the_function_and_its_sentence_from_the_docstring() -> None:
    area: Area[Performed] = Area("one", "One area")

    @area.required("000-L0001", "decision 3", what="a call")
    async def in_time(_performed: Performed) -> Evidence:
        """The agent answers {what}
        within {LIMIT_SECONDS:g} seconds."""
        return Evidence()

    assert area.checks == [in_time]
    assert (in_time.id, in_time.sentence) == ("one.in_time", "The agent answers a call within 2.5 seconds.")
    assert (in_time.requirements, in_time.is_required) == (("000-L0001", "decision 3"), True)


def test_a_misspelt_option_of_a_check_is_an_error() -> None:
    area: Area[Performed] = Area("one", "One area")

    async def in_time(_performed: Performed) -> Evidence:
        """The agent answers in time."""
        return Evidence()

    with pytest.raises(TypeError, match=r"one\.in_time: ful is neither an option nor a word"):
        area.required("000-L0001", ful=True)(in_time)
