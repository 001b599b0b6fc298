"""``league new``: what is written, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaguekit.cli import main


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ([], {"README.md", "agent.py", "test_agent.py"}),
        (["--plain"], {"README.md", "agent.py", "test_agent.py"}),
        (["--lang", "javascript"], {"README.md", "agent.mjs", "agent.test.mjs"}),
    ],
)
def test_a_starter_is_written_into_a_folder_after_its_name(
    options: list[str], files: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "player", "Alice's  Agent", *options]) == 0
    folder = Path("alice-s-agent")
    assert {path.name for path in folder.iterdir()} == files | {".gitignore"}
    # What holds a token is not for a repository.
    assert {"SHARED/", "state.*"} <= {*(folder / ".gitignore").read_text().splitlines()}
    texts = "".join(path.read_text() for path in folder.iterdir())
    assert "My agent" not in texts
    assert '"Alice\'s Agent"' in texts
    assert "cd alice-s-agent\n" in capsys.readouterr().out
    assert ("leaguekit import" in texts) == (options == [])


def test_nothing_is_ever_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir()
    Path("mine", "agent.py").write_text("mine")
    Path("mine", ".gitignore").write_text("mine")
    assert main(["new", "player", "Alice", "--dir", "mine"]) == 2
    assert "mine has agent.py already, and nothing is overwritten; choose another --dir" in capsys.readouterr().err
    assert {path.name for path in Path("mine").iterdir()} == {".gitignore", "agent.py"}
    # Files that it does not write may stay.
    assert main(["new", "player", "Alice", "--dir", "mine", "--lang", "javascript"]) == 0
    assert Path("mine", "agent.py").read_text() == Path("mine", ".gitignore").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "it has no visible character"),
        ("a\nb", "U+000A at character 2 is a control character"),
        ("x" * 51, "it has 51 characters, which is too many"),
    ],
)
def test_a_name_that_no_league_would_take_is_refused_before_anything_is_written(
    name: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "player", name]) == 2
    assert f"{why}; choose another one" in capsys.readouterr().err
    assert [*Path().iterdir()] == []


def test_a_folder_that_cannot_be_made_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    assert main(["new", "player", "Alice", "--dir", "file/mine"]) == 2
    assert "file/mine cannot be written: Not a directory; choose another --dir" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "folder"), [("Жук", "жук"), ("שלום 7", "שלום-7"), ("💥!", "agent"), ("../up", "up")])
def test_every_name_has_a_folder(name: str, folder: str) -> None:
    assert main(["new", "player", name]) == 0
    assert f'Player("{name}", choose)' in Path(folder, "agent.py").read_text(encoding="utf-8")
