"""The ``league`` command, also as ``python -m leaguekit``."""

import os
import signal
from types import FrameType

EXIT_INTERRUPTED = 130


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(EXIT_INTERRUPTED)


def main() -> int:
    """Run the command. Ctrl-C may come at any moment.

    Until the command begins, there is nothing to clean up, and Ctrl-C ends the program at once. An exception would be
    lost in some imports. After the command, its exit code is kept.
    """
    # A program in the background may ignore Ctrl-C.
    handles = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handles:
        signal.signal(signal.SIGINT, _end)
    from leaguekit.cli import main as command  # noqa: PLC0415

    def begin() -> None:
        if handles:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    code = EXIT_INTERRUPTED
    try:
        code = command(begin=begin)
    except KeyboardInterrupt:
        pass
    finally:
        if handles:
            signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(code))
    return code


if __name__ == "__main__":
    raise SystemExit(main())
