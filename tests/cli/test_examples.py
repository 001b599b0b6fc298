"""``league examples``: every message of the documents, in the folders of the appendix of document 002."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leaguekit.protocol.decoding import violations
from leaguekit.protocol.examples import TOPICS, examples
from leaguekit.protocol.explain import explain
from leaguekit.protocol.messages import ACKNOWLEDGEMENTS, SPECIFIED, message_type
from tests.cli.conftest import CommandResult
from tests.documents.forms import EXCEPTIONS, MORE_EXCEPTIONS, departures, message_types
from tests.programs import league
from tests.requirements import DOCUMENTS

OF_REGISTRATION = {
    "REFEREE_REGISTER_REQUEST", "REFEREE_REGISTER_RESPONSE", "LEAGUE_REGISTER_REQUEST", "LEAGUE_REGISTER_RESPONSE",
}  # fmt: skip


def message_in(body: bytes) -> dict[str, Any]:
    whole = json.loads(body)
    return dict(whole.get("params") or whole.get("result") or whole["error"]["data"])


@pytest.mark.proves("002-L0338", "002-L0340", "002-L0341", "002-L0342")
def test_the_installed_program_writes_the_folders_of_the_appendix_and_explain_finds_nothing_wrong(
    tmp_path: Path, command: Callable[..., CommandResult]
) -> None:
    out = tmp_path / "messageexamples"
    program = league("examples", "--out", out)
    assert program.stdout == f"{len(examples())} examples written to {out}\n"
    assert sorted(path.name for path in out.iterdir()) == ["errors", "gameflow", "registration"]
    files = sorted(out.glob("*/*.json"))
    assert len(files) == len(examples())
    for path in files:
        assert command("explain", path).code == 0, path
        assert path.stem.startswith(message_in(path.read_bytes())["message_type"])
    kinds = {
        topic: {message_in(path.read_bytes())["message_type"] for path in (out / topic).iterdir()} for topic in TOPICS
    }
    assert kinds["registration"] == OF_REGISTRATION
    assert {"GAME_ERROR", "LEAGUE_ERROR"} <= kinds["errors"]
    assert not kinds["gameflow"] & {*OF_REGISTRATION, "GAME_ERROR", "LEAGUE_ERROR"}
    every = {message_type(message) for message in SPECIFIED + ACKNOWLEDGEMENTS}
    assert set.union(*kinds.values()) == every


@pytest.mark.parametrize("example", examples(), ids=lambda example: f"{example.topic}/{example.name}")
def test_an_example_is_valid_and_has_the_form_of_each_document(example: Any) -> None:
    message = message_in(example.body)
    assert violations(message) == []
    assert [part.wrong for part in explain(example.body)] == [[]]
    for document in DOCUMENTS:
        if message["message_type"] in message_types(document):
            paths = departures(document, message["message_type"], message)
            found = {(document.number, message["message_type"], path) for path in paths}
            assert found <= set(EXCEPTIONS) | set(MORE_EXCEPTIONS)


def test_an_answer_has_the_id_of_its_request_and_no_two_requests_share_one() -> None:
    bodies = [json.loads(example.body) for example in examples()]
    assert (
        [one["id"] for one in bodies[::2]]
        == [one["id"] for one in bodies[1::2]]
        == list(range(1, len(bodies) // 2 + 1))
    )
    assert all("method" in one for one in bodies[::2])
    assert all("method" not in one for one in bodies[1::2])


def test_without_a_folder_the_names_are_listed(command: Callable[..., CommandResult]) -> None:
    said = command("examples")
    assert said.out.splitlines() == [f"{example.topic}/{example.name}.json" for example in examples()]
    assert len(set(said.out.splitlines())) == len(examples())


def test_nothing_that_is_there_is_overwritten(tmp_path: Path, command: Callable[..., CommandResult]) -> None:
    (tmp_path / "gameflow").mkdir()
    said = command("examples", "--out", tmp_path)
    assert said.code == 2
    assert said.err == (
        f"league examples: {tmp_path / 'gameflow'} is there already; give another --out, or remove it first\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["gameflow"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, command: Callable[..., CommandResult]) -> None:
    (tmp_path / "file").write_text("")
    said = command("examples", "--out", tmp_path / "file")
    assert said.code == 2
    assert said.err.startswith(f"league examples: cannot write {tmp_path / 'file' / 'registration'}")
