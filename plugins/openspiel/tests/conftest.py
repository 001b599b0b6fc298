"""The plug-in's tests need open_spiel, which the tests of leaguekit do not."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("pyspiel") else ["test_*.py"]


def pytest_report_header() -> list[str]:
    return ["the plug-in is not tested: open_spiel is missing (`make openspiel`)"] if collect_ignore_glob else []
