"""The wheel in an empty environment: what a student, a researcher and a host do first, and what its page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from leaguekit import __version__
from tests.programs import Program

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
# What a user may ask for; the others are for work on leaguekit.
EXTRAS = ["dask", "llm", "mcp", "postgres", "swiss"]
URL = r"(http://127\.0\.0\.1:\d+/mcp)"


class Installed(NamedTuple):
    """An environment that has the wheel, what the wheel says it needs, and pytest."""

    programs: Path

    def start(self, *words: str | Path, cwd: Path) -> Program:
        program, *arguments = words
        return Program(*arguments, command=(str(self.programs / program),), cwd=cwd)

    def run(self, *words: str | Path, cwd: Path) -> str:
        with self.start(*words, cwd=cwd) as done:
            assert done.ended(60) == 0, (words, done.stdout, done.stderr)
        return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the tracked files. A copy of them is built: a folder ``build`` may have files of other days."""
    sources, folder = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("dist")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in tracked.split("\0"):
        if name.startswith("src/") or (name and "/" not in name):
            (sources / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, sources / name)
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, sources], check=True)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as file:
        (name,) = [name for name in file.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(file.read(name))


def _needed(requirements: list[str]) -> Iterator[str]:
    """The distributions that these requirements name, and those that they need, without extras."""
    waiting, seen = [*requirements], set[str]()
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        if name not in seen and (not requirement.marker or requirement.marker.evaluate({"extra": ""})):
            seen.add(name)
            waiting += distribution(name).requires or []
            yield name


@pytest.fixture(scope="module")
def installed(wheel: Path, metadata: Message, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """No index is asked: what the wheel needs is linked from the environment of the tests, and nothing else is."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder)
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps", wheel]
    subprocess.run(install, check=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    for name in _needed([*metadata.get_all("Requires-Dist", []), "pytest"]):
        found = distribution(name)
        for top in {path.parts[0] for path in found.files or []} - {"..", "__pycache__"}:
            (site / top).symlink_to(Path(str(found.locate_file(top))))
    return Installed(folder / "bin")


@pytest.mark.long
def test_the_wheel_has_two_names_for_its_command_and_nothing_of_the_tests(installed: Installed, tmp_path: Path) -> None:
    version = f"leaguekit {__version__}\n"
    assert installed.run("league", "--version", cwd=tmp_path) == version
    assert installed.run("leaguekit", "--version", cwd=tmp_path) == version
    code = (
        "import leaguekit, importlib.util as u; print(leaguekit.__file__, u.find_spec('tests'), u.find_spec('httpx2'))"
    )
    place, tests, httpx2 = installed.run("python", "-c", code, cwd=tmp_path).split()
    assert Path(place).is_relative_to(installed.programs.parent)
    assert (tests, httpx2) == ("None", "None")


@pytest.mark.long
def test_a_student_writes_tests_tries_and_checks_an_agent(installed: Installed, tmp_path: Path) -> None:
    installed.run("league", "new", "player", "Alice", cwd=tmp_path)
    mine = tmp_path / "alice"
    assert " passed" in installed.run("python", "-m", "pytest", "-q", cwd=mine)
    for words, last in (
        (("league", "try", "--port", "0"), "Your agent |A draw: "),
        (("league", "check", "player", "--port", "0"), "OK: nothing that is required of Alice failed"),
    ):
        with installed.start(*words, cwd=mine) as other:
            installed.run("python", "agent.py", "--manager", other.said(URL)[1], "--port", "0", cwd=mine)
            assert other.ended(60) == 0, other.stderr
        assert re.match(last, other.stdout.splitlines()[-1])
    installed.run("league", "new", "player", "Bob", "--plain", cwd=tmp_path)
    installed.run("python", "-m", "unittest", cwd=tmp_path / "bob")


@pytest.mark.long
def test_a_researcher_simulates_compares_and_exports(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def centre(ctx):\n    return 4 if 4 in ctx.valid_options else ctx.valid_options[0]\n"
    )
    options = ["--game", "tic_tac_toe", "--strategies", "random,mine:centre", "--seeds", "50"]
    compared = installed.run("league", "simulate", *options, "--json", "--out", "matches.csv", cwd=tmp_path)
    points = {row["strategy"]: row["points"] for row in json.loads(compared)["strategies"]}
    assert points["mine:centre"] > points["random"]
    assert len((tmp_path / "matches.csv").read_text().splitlines()) == 51
    installed.run(
        "leaguekit", "run", "--port", "0", "--strategies", "random,mine:centre", "--game", "tic_tac_toe", cwd=tmp_path
    )
    installed.run("league", "export", "--format", "csv", "--out", "results.csv", cwd=tmp_path)
    assert len((tmp_path / "results.csv").read_text().splitlines()) == 7


@pytest.mark.long
def test_a_host_hosts_reports_and_verifies(installed: Installed, tmp_path: Path) -> None:
    when = ["--start-when", "players=3,referees=1", "--announce-lead", "0"]
    with installed.start("league", "host", "--port", "0", *when, cwd=tmp_path) as host:
        manager = host.said(f"is at {URL}")[1]
        installed.run("league", "players", "--count", "3", "--port", "0", "--manager", manager, cwd=tmp_path)
        assert "P03" in installed.run("league", "standings", "--manager", manager, cwd=tmp_path)
        installed.run("league", "report", "--out", "report", cwd=tmp_path)
    assert "<table" in (tmp_path / "report" / "index.html").read_text()
    installed.run("league", "verify", cwd=tmp_path)


@pytest.mark.long
def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    with ZipFile(wheel) as file:
        packed = {name for name in file.namelist() if ".dist-info/" not in name}
    assert packed == {name.removeprefix("src/") for name in tracked.split()}


def test_the_readme_has_only_links_that_work_on_every_page() -> None:
    """The page of a package index has no files beside it."""
    text = (ROOT / "README.md").read_text()
    # The two commands that need nothing come first.
    assert re.findall(r"^```console\n\$ (\S+ \S+).*\n\$ (\S+ \S+)", text, re.MULTILINE)[0] == ("make demo", "make test")
    targets = re.findall(r"\]\(([^)]+)\)", text) + re.findall(r"^\[[^\]]+\]: (.+)$", text, re.MULTILINE)
    assert set(re.findall(r"\]\[([^\]]+)\]", text)) <= set(re.findall(r"^\[([^\]]+)\]: ", text, re.MULTILINE))
    assert len(targets) > 10
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    raw = REPOSITORY.replace("github.com", "raw.githubusercontent.com") + "/main/"
    for target in targets:
        path = re.match(rf"(?:{re.escape(REPOSITORY)}/blob/main/|{re.escape(raw)})([^#]+)", target)
        assert path is None or (ROOT / path[1]).exists(), target
    assert any(target.startswith(raw) for target in targets)


def test_the_project_has_its_addresses() -> None:
    assert set(PROJECT["urls"]) == {"Repository", "Documentation", "Tutorial", "Changelog", "Issues"}
    assert all(url.startswith(REPOSITORY) for url in PROJECT["urls"].values())


def test_the_documents_name_only_extras_that_exist() -> None:
    extras = set(PROJECT["optional-dependencies"])
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    named = set[str]()
    for name in tracked:
        if Path(name).suffix in {".py", ".md", ".toml", ".html", ".js"}:
            for found in re.findall(r"(?:leaguekit|'\.)\[([a-z,]+)\]", (ROOT / name).read_text()):
                named |= set(found.split(","))
    assert {*EXTRAS, "dev"} == extras
    assert set(EXTRAS) <= named <= extras


def test_every_python_that_is_promised_is_tried() -> None:
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert promised == ["3.11", "3.12", "3.13"]
    assert PROJECT["requires-python"] == f">={promised[0]}"
    assert f"for version in {' '.join(promised[1:])};" in (ROOT / ".ci" / "other-pythons").read_text()
    assert f"python: {json.dumps(promised)}" in (ROOT / ".github" / "workflows" / "release.yml").read_text()


def test_a_release_is_checked_in_the_same_way_here_and_there_and_needs_no_password() -> None:
    script, workflow = ROOT / ".ci" / "release", (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert os.access(script, os.X_OK)
    assert "run: .ci/release dist" in workflow
    assert f"for extra in {' '.join(EXTRAS)};" in script.read_text()
    assert "id-token: write" in workflow
    assert not re.search("secrets|token:(?! write)|username", workflow.replace("id-token", ""))
