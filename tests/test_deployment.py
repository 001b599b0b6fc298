"""The files for a server: what a container, a service and a proxy are given is run here as far as this machine can."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.certificates import make_certificate
from tests.cli.test_access import free_port
from tests.programs import Program, league, needs_program
from tests.web.prefix_proxy import proxy

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text()
UNIT = (ROOT / "deploy" / "league@.service").read_text()
# Where the referees of a host register: at the manager itself, not at the address that others use.
INSIDE = r"Referee 1 listens at port \d+ and registers at (http://127\.0\.0\.1:\d+/mcp)"
LEAGUE = str(Path(sys.executable).parent / "league")


def _container() -> list[str]:
    return json.loads(re.findall(r"^CMD (.+)$", DOCKERFILE, re.MULTILINE)[0])  # type: ignore[no-any-return]


def _composed() -> list[str]:
    (command,) = re.findall(r"command: >-\n((?: {6}.+\n)+)", (ROOT / "compose.yaml").read_text())
    return shlex.split(
        re.sub(r"\$\{LEAGUE_ID:-(\w+)\}", r"\1", re.sub(r"\$\{LEAGUE_HOST:.+?\}", "league.example", command))
    )


def _service() -> list[str]:
    (command,) = re.findall(r"^ExecStart=\S+/league (.+)$", UNIT, re.MULTILINE)
    (options,) = re.findall(r"^# OPTIONS=\"(.+)\"$", UNIT, re.MULTILINE)
    return shlex.split(command.replace("%i", "cup").replace("$OPTIONS", options))


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(_container(), id="Dockerfile"),
        pytest.param(_composed(), id="compose.yaml", marks=pytest.mark.long),
        pytest.param(_service(), id="systemd", marks=pytest.mark.long),
    ],
)
def test_a_server_is_healthy_ends_when_it_is_asked_to_and_goes_on_when_it_is_started_again(
    command: list[str], tmp_path: Path
) -> None:
    (health,) = re.findall(r"^HEALTHCHECK .* CMD (.+)$", DOCKERFILE, re.MULTILINE)
    _, *check = json.loads(health)
    for expected in ("is registered: Referee 1", "is back: Referee 1"):
        with Program(*command, "--host", "127.0.0.1", "--port", "0", cwd=tmp_path) as host:
            host.said("League cup is at ")
            manager = ["--manager", host.said(INSIDE)[1]]
            host.said(expected)
            healthy = league(*check, *manager)
            assert (healthy.process.returncode, healthy.stderr) == (0, "")
            assert healthy.stdout.startswith("cup: WAITING_FOR_REGISTRATIONS")
            host.process.send_signal(signal.SIGTERM)
            assert host.ended() == 0, host.stderr
        assert league(*check, *manager).process.returncode == 2
    # Everything is below the folder that is kept.
    assert [path.name for path in tmp_path.iterdir()] == ["SHARED"]


@contextmanager
def _small_proxy(manager: str, port: int, _folder: Path) -> Iterator[None]:
    with proxy(manager, "/cup", port=port):
        yield


@contextmanager
def _nginx(manager: str, port: int, folder: Path) -> Iterator[None]:
    """The real nginx with our file, with a certificate of our own and at other ports."""
    site = (ROOT / "deploy" / "nginx.conf").read_text()
    site = site.replace("listen 443 ", f"listen 127.0.0.1:{port} ").replace("http://127.0.0.1:8000", manager)
    site = re.sub(r"/etc/.*/privkey.pem", f"{folder}/key.pem", site)
    site = re.sub(r"/etc/.*/fullchain.pem", f"{folder}/cert.pem", site)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    head = f"daemon off; pid {folder}/pid; error_log stderr; events {{}} http {{ access_log off; {paths}"
    file = folder / "nginx.conf"
    file.write_text(f"{head}\n{site}\n}}\n")
    command = ["nginx", "-c", str(file), "-e", "stderr"]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    with subprocess.Popen(command) as running:
        try:
            yield
        finally:
            running.terminate()


@pytest.mark.parametrize(
    ("serve", "scheme"),
    [(_small_proxy, "http"), pytest.param(_nginx, "https", marks=[pytest.mark.long, needs_program("nginx")])],
)
def test_a_league_is_played_through_a_proxy_under_a_path(
    serve: Any, scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    url = f"{scheme}://127.0.0.1:{port}/cup"
    manager = ["--manager", f"{url}/mcp"]
    options = ["--port", "0", "--endpoint", f"{url}/mcp", "--start-when", "players=3,referees=1"]
    (tmp_path / "proxy").mkdir()
    if scheme == "https":
        _, certificate = make_certificate(tmp_path / "proxy", "IP:127.0.0.1")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Program("host", *options, "--announce-lead", "0", "--league-id", "cup", cwd=tmp_path) as host:
        assert host.said(r"dashboard: (\S+)")[1] == f"{url}/"
        with serve(host.said(INSIDE)[1].removesuffix("/mcp"), port, tmp_path / "proxy"):
            # It tries again until the proxy listens.
            players = league("players", "--count", "3", "--port", "0", *manager)
            assert "The league is over" in players.stderr
            assert "P03" in league("standings", *manager).stdout
            watched = league("watch", *manager)
            assert "champion" in watched.stdout.lower(), watched.stderr


@pytest.mark.long
def test_players_behind_a_router_play_through_a_gateway_under_a_path(tmp_path: Path) -> None:
    inside, port = free_port(), free_port()
    url = f"http://127.0.0.1:{port}/play"
    when = ["--start-when", "players=2,referees=1", "--announce-lead", "0"]
    with Program("host", "--port", "0", *when, cwd=tmp_path) as host:
        manager = ["--manager", host.said(INSIDE)[1]]
        gateway = ["gateway", "--port", str(inside), "--endpoint", f"{url}/mcp", *manager]
        with (
            Program(*gateway, cwd=tmp_path) as seats,
            proxy(f"http://127.0.0.1:{inside}", "/play", port=port),
            # One takes the address that the gateway prints, the other that of the messages.
            Program("player", *manager, "--relay", seats.said(r"--relay (\S+)")[1], "--name", "A", cwd=tmp_path) as a,
            Program("player", *manager, "--relay", f"{url}/mcp", "--name", "B", cwd=tmp_path) as b,
        ):
            assert (a.ended(), b.ended()) == (0, 0), a.stderr + b.stderr


def test_the_container_gets_what_it_copies_and_is_not_root() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        name for names in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE) for name in names.split()
    }
    assert copied == allowed
    assert all((ROOT / name).exists() for name in copied)
    assert re.search(r"^USER 10001:10001$", DOCKERFILE, re.MULTILINE)
    compose = (ROOT / "compose.yaml").read_text()
    assert all(line in compose for line in ("read_only: true", "cap_drop: [ALL]", "no-new-privileges:true"))


def test_the_service_has_no_rights() -> None:
    for line in ("DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "StateDirectory=leaguekit"):
        assert f"\n{line}\n" in UNIT


@needs_program("systemd-analyze", "systemd")
def test_systemd_accepts_the_service(tmp_path: Path) -> None:
    file = tmp_path / "league@cup.service"
    file.write_text(UNIT.replace("/opt/leaguekit/bin/league", LEAGUE))
    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_every_file_for_a_server_is_explained() -> None:
    text = (ROOT / "docs" / "deployment.md").read_text()
    for path in (ROOT / "Dockerfile", ROOT / "compose.yaml", *(ROOT / "deploy").iterdir()):
        assert f"`{path.relative_to(ROOT).as_posix()}`" in text
