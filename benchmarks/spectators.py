"""What spectators cost: matches per second of a league while 1,000 watch its stream of events, against nobody watching.

Leagues are played by `league run`, every agent a process, every result durable. The spectators are sockets of one more
process, which reads what comes and does nothing with it. Leagues with and without take turns, and each ratio is made
from two neighbours, so that a slow moment of the machine hits both alike. The last line is one JSON object.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import socket
import statistics
import sys
import threading
from urllib.parse import urlsplit

from programs import data_folder, programs, start

QUICK = bool(os.environ.get("QUICK"))
PLAYERS, REFEREES, TURNS = (20, 2, 2) if QUICK else (50, 4, 3)
SPECTATORS = 1_000
GOAL = 0.95
LIMIT_SECONDS = 180


def watch(url: str, count: int) -> None:
    """Be this number of spectators until nobody answers any more, and then say what came."""
    place = urlsplit(url)
    request = b"GET /events HTTP/1.1\r\nHost: %b\r\nAccept-Encoding: gzip\r\n\r\n" % place.netloc.encode()
    poll, sockets = select.epoll(), {}
    for _ in range(count):
        sock = socket.create_connection((place.hostname, place.port))
        sock.sendall(request)
        sock.setblocking(False)
        sockets[sock.fileno()] = sock
        poll.register(sock, select.EPOLLIN)
    pieces = received = 0
    buffer = bytearray(1 << 20)
    print("watching", flush=True)
    while sockets:
        for number, _ in poll.poll(30):
            size = 0
            with contextlib.suppress(ConnectionError):
                size = sockets[number].recv_into(buffer)
            received += size
            pieces += size > 0
            if not size:
                poll.unregister(number)
                sockets.pop(number).close()
    print(json.dumps({"pieces": pieces, "bytes": received}), flush=True)


def play(spectators: int) -> tuple[float, dict[str, int]]:
    """Matches per second of one league, and what its spectators saw."""
    with data_folder() as folder, programs() as started:
        counts = ["--players", str(PLAYERS), "--referees", str(REFEREES)]
        league = start("-m", "leaguekit", "run", "--port", "0", *counts, "--data-dir", str(folder))
        started.append(league)
        timer = threading.Timer(LIMIT_SECONDS, os.killpg, (league.pid, signal.SIGKILL))
        timer.start()
        crowd, rate = None, 0.0
        for line in league.stdout or ():
            if spectators and crowd is None and (found := re.search(r"dashboard: (\S+)", line)):
                crowd = start(__file__, found[1], str(spectators))
                started.append(crowd)
            if found := re.search(r"matches in .* \(([0-9,]+) per second\)", line):
                rate = float(found[1].replace(",", ""))
        timer.cancel()
        league.wait()
        seen = {} if crowd is None else json.loads(crowd.communicate(timeout=60)[0].splitlines()[-1])
    return rate, seen


def main() -> None:
    with_, without, ratios, seen = [], [], [], {}
    for turn in range(TURNS):
        alone, _ = play(0)
        watched, seen = play(SPECTATORS)
        with_.append(watched)
        without.append(alone)
        ratios.append(watched / alone)
        print(f"turn {turn + 1}: {alone:.0f} matches per second alone, {watched:.0f} watched by {SPECTATORS}", end="")
        print(f" ({ratios[-1]:.2f}; {seen['pieces']:,} pieces, {seen['bytes'] / 1e6:.0f} MB)", flush=True)
    ratio = statistics.median(ratios)
    print(f"\nwith {SPECTATORS} spectators at {ratio:.2f} of the speed without (goal: at least {GOAL})")
    told = {"players": PLAYERS, "spectators": SPECTATORS, "ratio": round(ratio, 3), "goal": GOAL}
    print(json.dumps(told | {"without": statistics.median(without), "with": statistics.median(with_), "last": seen}))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        watch(sys.argv[1], int(sys.argv[2]))
    else:
        main()
