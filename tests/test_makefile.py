"""What ``make`` installs, as its dry run says, and how it is interrupted. Nothing is installed here."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def installed(target: str, folder: Path) -> list[str]:
    """What a target installs in a fresh clone."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    done = subprocess.run(["make", "-n", target], cwd=folder, capture_output=True, text=True, check=True)
    return re.findall(r"pip install .* -e (\S+)", done.stdout)


def test_the_demo_installs_only_what_the_programs_need(tmp_path: Path) -> None:
    assert installed("demo", tmp_path) == ["."]


@pytest.mark.parametrize("target", ["test", "check", "long"])
def test_the_tests_install_the_rest(target: str, tmp_path: Path) -> None:
    assert installed(target, tmp_path) == [".", "'.[dev]'"]


def test_what_is_installed_is_not_installed_again(tmp_path: Path) -> None:
    """Whichever came first."""
    installed("demo", tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/.runtime").touch()
    assert is_up_to_date(".venv/.runtime", tmp_path)
    assert not is_up_to_date("setup", tmp_path)
    (tmp_path / ".venv/.ready").touch()
    assert is_up_to_date("setup", tmp_path)
    assert is_up_to_date(".venv/.runtime", tmp_path)


@pytest.mark.long
def test_ctrl_c_ends_the_first_step_of_the_set_up_without_a_traceback(tmp_path: Path) -> None:
    installed("demo", tmp_path)
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(["make", "demo"], cwd=tmp_path, text=True, start_new_session=True, **output) as make:
        while make.poll() is None and not (tmp_path / ".venv" / "pyvenv.cfg").exists():
            with contextlib.suppress(subprocess.TimeoutExpired):
                make.wait(0.01)
        # As a terminal does: to make, and to what it has started.
        os.killpg(make.pid, signal.SIGINT)
        said, _ = make.communicate(timeout=30)
    # Below another make, the first lines are about directories.
    assert "Setting up .venv (once) …\n" in said
    assert "Traceback" not in said
    assert make.returncode != 0


def is_up_to_date(target: str, folder: Path) -> bool:
    return subprocess.run(["make", "-q", target], cwd=folder, check=False).returncode == 0
