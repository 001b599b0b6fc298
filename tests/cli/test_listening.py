"""Where a manager listens is kept in its store: --host, --port and --allow."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

import pytest

from leaguekit.cli import CommandError, stored_plans
from leaguekit.cli.commands import manager
from leaguekit.store.opening import open_log
from tests.programs import Program


def options_for(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    manager.configure(parser)
    return parser.parse_args(arguments)


def recalled(store: str | Path, *arguments: str) -> tuple[Any, ...]:
    """--host, --port and --allow of a manager with these options and this store."""
    options = options_for(*arguments)
    asyncio.run(stored_plans.recall_listening(options, store))
    return options.host, options.port, options.allow


def keep(store: Path, *arguments: str, content: bytes | None = None) -> None:
    async def write() -> None:
        log = await open_log(store)
        if content is not None:
            await log.write_document(stored_plans.LISTENING, content)
        else:
            options = options_for(*arguments)
            await stored_plans.recall_listening(options, store)
            await stored_plans.keep_listening(log, options)
        await log.close()

    asyncio.run(write())


def test_without_a_store_the_defaults_are_taken(tmp_path: Path) -> None:
    assert recalled(tmp_path / "none.db") == ("127.0.0.1", 8000, None)
    assert recalled("memory:") == ("127.0.0.1", 8000, None)


def test_what_is_not_said_is_as_before_and_what_is_said_replaces_it(tmp_path: Path) -> None:
    store = tmp_path / "league.db"
    keep(store, "--host", "0.0.0.0", "--port", "8010", "--allow", "lan=10.0.0.0/24")
    assert recalled(store) == ("0.0.0.0", 8010, "lan=10.0.0.0/24")
    assert recalled(store, "--port", "8020") == ("0.0.0.0", 8020, "lan=10.0.0.0/24")
    keep(store, "--allow", "public")
    assert recalled(store) == ("0.0.0.0", 8010, "public")
    # A process that another one started has its socket from there.
    assert recalled(store, "--socket-fd", "7") == ("127.0.0.1", 8000, None)


def test_an_address_that_this_machine_has_lost_is_replaced_by_another_in_the_same_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "league.db"
    keep(store, "--host", "198.51.100.77", "--allow", "lan=127.0.0.0/8")
    assert recalled(store)[0] == "127.0.0.1"
    assert "198.51.100.77 is no longer an address of this machine: listening at 127.0.0.1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("allow", "none"), [("local", "none in --allow local"), ("lan=198.51.100.0/24", "198.51.100.0/24")]
)
def test_without_an_address_there_the_operator_is_asked_for_one(tmp_path: Path, allow: str, none: str) -> None:
    store = tmp_path / "league.db"
    keep(store, "--host", "198.51.100.77", "--allow", allow)
    with pytest.raises(CommandError, match="is no longer an address of this machine") as caught:
        recalled(store)
    assert f"none in --allow {allow}." in str(caught.value)
    assert "--host 0.0.0.0 --allow lan=" in str(caught.value)


def test_a_store_that_does_not_say_it_readably_is_an_error_that_names_the_options(tmp_path: Path) -> None:
    store = tmp_path / "league.db"
    keep(store, content=b'{"port": "x"}')
    with pytest.raises(CommandError, match="say it again with --host, --port and --allow"):
        recalled(store)


def test_a_manager_comes_back_where_it_was(tmp_path: Path) -> None:
    again = ("manager", "--league-id", "here", "--data-dir", tmp_path)
    with Program(*again, "--host", "127.0.0.3", "--allow", "local", "--port", "0") as first:
        first.said(r"is at http://127\.0\.0\.3:")
    with Program(*again) as second:
        second.said(r"is at http://127\.0\.0\.3:")


def test_a_host_that_waits_for_more_referees_than_it_starts_says_so(tmp_path: Path) -> None:
    options = ["--port", "0", "--data-dir", tmp_path, "--start-when", "players=2,referees=2"]
    with Program("host", *options) as host:
        host.said(r"waits for 2 referees, and this command starts 1 referee \(--referees\)")


def test_a_host_says_that_a_league_is_new_whose_id_may_be_misspelt(tmp_path: Path) -> None:
    where = ("--port", "0", "--data-dir", tmp_path, "--league-id")
    with Program("host", *where, "class_7b_dbyx") as host:
        host.said("REF01 is registered")
    assert "new league" not in host.stderr
    with Program("host", *where, "class_7b") as host:
        host.said("class_7b is a new league. To go on with class_7b_dbyx, give --league-id class_7b_dbyx\n")
    with Program("host", *where, "class_7b_dbyx", "--title", "Cup") as host:
        assert host.ended() == 2
    # The options are compared with the store before any process is started.
    assert "which has title = '', not 'Cup'. Leave --title out" in host.stderr
    assert host.stderr.count("\n") == 1
