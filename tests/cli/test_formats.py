"""The options --format and --seeding: what they accept, what they refuse, and formats of authors."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from leaguekit.agents.format_loading import module_of_format
from leaguekit.cli import CommandError, formats
from leaguekit.formats import FORMATS, parse_format, plugins
from leaguekit.formats.testing import check_format
from leaguekit.league.settings import Settings
from leaguekit.manager.rounds import pairing_engine
from tests.cli.conftest import CommandResult
from tests.league.play import Play
from tests.played import Played

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "formats.md"


def requested(*arguments: str, in_file: dict[str, Any] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    formats.add_options(parser)
    return formats.requested_settings(parser.parse_args(arguments), in_file or {})


def test_the_options_are_settings_of_the_league() -> None:
    assert requested() == {}
    assert requested("--rounds", "double") == {"rounds": "double"}
    assert requested("--format", "swiss(rounds=5)") == {"format": "swiss(rounds=5)"}
    assert requested("--format", "round_robin(legs=2)", "--rounds", "double")["rounds"] == "double"
    assert requested("--seeding", "lot") == {"seeding": "lot"}
    assert requested(in_file={"format": "round_robin"}) == {"rounds": "single", "format": UNSET}
    assert requested("--format", "knockout", in_file={"format": "swiss"}) == {"format": "knockout"}


def test_a_file_has_names_in_their_order_or_names_with_ratings(tmp_path: Path) -> None:
    names, ratings = tmp_path / "names.txt", tmp_path / "ratings.csv"
    names.write_text("Bob\n\nAlice\n")
    assert requested("--seeding", str(names)) == {"seeding": "file", "seeds": {"Bob": 1.0, "Alice": 2.0}}
    ratings.write_text("name,rating\nBob,1500\nAlice,1812.5\n")
    assert requested("--seeding", str(ratings)) == {"seeding": "rating", "seeds": {"Bob": 1500.0, "Alice": 1812.5}}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "names no player; the word may also be registration or lot"),
        (b"Bob\nBob\n", "names 'Bob' twice"),
        (b"Bob,1\nAlice,nan\n", "line 2: a rating must be a number, got 'nan'"),
        (b"Bob,1\nAlice\n", "line 2: a rating must be a number, got ''"),
        (b"\xff\xfe", "cannot read"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "seeds.csv"
    path.write_bytes(content)
    with pytest.raises(CommandError, match=why):
        requested("--seeding", str(path))


def test_a_seeding_that_is_neither_a_word_nor_a_file_is_refused_with_what_it_may_be() -> None:
    with pytest.raises(
        CommandError, match="--seeding: there is no file rating; the seeding is registration, lot, or a"
    ):
        requested("--seeding", "rating")


def test_the_format_of_the_documentation_is_loaded_from_a_file_and_is_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = DOCUMENT.read_text().partition("```python\n")[2].partition("```")[0]
    (tmp_path / "mine.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    try:
        assert requested("--format", "mine.py:Duel") == {"format": "mine.py:Duel"}
        check_format(parse_format("mine.py:Duel"))
    finally:
        FORMATS.pop("mine.py:Duel", None)
        parse_format.cache_clear()


def test_a_package_brings_a_format_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = DOCUMENT.read_text().partition("```python\n")[2].partition("```")[0]
    (tmp_path / "brought.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    named = {"duel": "brought:Duel", "gone": "brought:Gone", "away": "nowhere:Duel", "other": "brought:NextRound"}
    points = {name: EntryPoint(name, value, plugins.GROUP) for name, value in named.items()}
    monkeypatch.setattr("leaguekit.formats.entry_points", lambda: points)
    monkeypatch.setattr("leaguekit.formats.FORMATS", {**FORMATS})
    try:
        assert requested("--format", "duel") == {"format": "duel"}
        check_format(parse_format("duel"))
        module = module_of_format("duel")
        assert module is not None
        assert module.__name__ == "brought"
        assert module_of_format("swiss") is None
        for name, why in (
            ("gone", r"the format 'gone' \(brought:Gone\) cannot be imported: AttributeError"),
            ("away", "cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
            ("other", "brought:NextRound is not a subclass of leaguekit.formats.Format"),
            ("duell", "there is no format 'duell'; did you mean 'duel'"),
        ):
            with pytest.raises(CommandError, match=why):
                requested("--format", name)
    finally:
        parse_format.cache_clear()


def test_a_league_in_a_format_of_a_file_is_verified_and_reported_with_this_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., CommandResult]
) -> None:
    (tmp_path / "mine.py").write_text(DOCUMENT.read_text().partition("```python\n")[2].partition("```")[0])
    name = "mine.py:Duel"
    monkeypatch.chdir(tmp_path)
    try:
        formats.load(name)
        play = Play(players=4, referees=2, format=name, seed_hex="5e" * 32).begin().play_all()
        Played(play.log, {}).store(tmp_path / "league.db")
        FORMATS.pop(name)
        parse_format.cache_clear()
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert "the format mine.py:Duel is not known here" in command("verify", tmp_path / "league.db").out
        found = command("verify", tmp_path / "league.db", "--format", "../mine.py:Duel")
        assert (found.code, "1 rounds drawn again by the format" in found.out) == (0, True)
        assert command("report", tmp_path / "league.db", "--format", "../mine.py:Duel", "--out", "page").code == 0
        assert "The first two players of the seeding meet" in Path("page", "index.html").read_text()
        FORMATS.pop(name)
        assert "There is no file" in command("verify", tmp_path / "league.db", "--format", "mine.py:Du").err
    finally:
        FORMATS.pop(name, None)
        parse_format.cache_clear()


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        ("none.py:Duel", None, "There is no file '.*none.py'"),
        ("mine.py:Duel", "x = 1", "there is no class 'Duel' in .*mine.py"),
        ("mine.py:Duel", "Duel = 1", "mine.py:Duel is not a subclass of leaguekit.formats.Format"),
        ("mine.py:Duel", "x = ", "mine.py' cannot be imported: SyntaxError"),
        (
            "mine.py:Duel",
            "from leaguekit.formats import Format\nclass Duel(Format):\n    name = 'duel'\n",
            "mine.py:Duel does not implement advancement, ended, pair_next_round",
        ),
        ("swis", None, "--format: there is no format 'swis'; did you mean 'swiss'"),
        ("swiss(", None, "--format: a format is written as NAME"),
    ],
)
def test_a_format_that_cannot_be_loaded_is_refused(
    text: str, code: str | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if code is not None:
        (tmp_path / "mine.py").write_text(code)
    with pytest.raises(CommandError, match=why):
        requested("--format", text)


def test_format_and_rounds_may_not_contradict_each_other() -> None:
    with pytest.raises(CommandError, match="--format round_robin and --rounds double contradict each other"):
        requested("--format", "round_robin", "--rounds", "double")


def test_without_the_engine_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    swiss = msgspec.convert({"league_id": "cup", "format": "swiss"}, Settings)
    formats.check(swiss)
    monkeypatch.setattr(pairing_engine, "find_spec", lambda _: None)
    with pytest.raises(CommandError, match=r"a Swiss needs the extra `swiss`: pip install 'leaguekit\[swiss\]'"):
        formats.check(swiss)
    formats.check(msgspec.convert({"league_id": "cup", "format": "knockout"}, Settings))
    wrong = msgspec.convert({"league_id": "cup", "format": "swiss", "rounds": "double"}, Settings)
    with pytest.raises(CommandError, match="the settings are wrong: rounds = double belongs to round_robin"):
        formats.check(wrong)
