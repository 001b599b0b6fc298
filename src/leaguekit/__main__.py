"""``python -m leaguekit`` is the ``league`` command."""

from leaguekit.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
