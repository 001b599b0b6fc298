"""The ``league`` command, also as ``python -m leaguekit``."""


def main() -> int:
    """Run the command. Nothing is imported before: Ctrl-C may come at any moment."""
    try:
        from leaguekit.cli import main as command  # noqa: PLC0415

        return command()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
