"""Machines in network namespaces, each with an address of its own, and the network between them.

All packets pass through this process, by TUN devices. So the network can be slow, lose packets, and be cut between any
two machines, also where the kernel has no ``tc netem``.
"""

from __future__ import annotations

import contextlib
import fcntl
import heapq
import itertools
import os
import random
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Self

import pytest

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_MAX_PACKET = 65_536


def ip(*words: str) -> bool:
    """Whether a command of ``ip`` succeeds."""
    with contextlib.suppress(OSError):
        return subprocess.run(["ip", *words], capture_output=True, check=False).returncode == 0
    return False


def skip_without_namespaces() -> None:
    name = f"leaguekit-try-{os.getpid()}"
    if not (sys.platform == "linux" and ip("netns", "add", name) and ip("netns", "del", name)):
        pytest.skip("needs the right to make network namespaces")


class Machines:
    """Machines 1 to ``count``. ``seconds`` is the delay of each packet, and ``loss`` the share that is lost."""

    def __init__(self, count: int, seconds: float, loss: float) -> None:
        self.addresses = {number: f"10.79.{os.getpid() % 250}.{number}" for number in range(1, count + 1)}
        self._seconds, self._loss = seconds, loss
        self._chance = random.Random(1)
        self._devices: dict[int, int] = {}
        self._cut: set[frozenset[int]] = set()
        self._ends = False
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self.carried = self.lost = 0

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as made:
            made.callback(self._remove)
            for number, address in self.addresses.items():
                self._devices[number] = device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
                name, space = f"lk{os.getpid()}-{number}", self._space(number)
                fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", name.encode(), _IFF_TUN | _IFF_NO_PI))
                assert ip("netns", "add", space)
                assert ip("-n", space, "link", "set", "lo", "up")
                assert ip("link", "set", name, "netns", space)
                assert ip("-n", space, "address", "add", f"{address}/24", "dev", name)
                assert ip("-n", space, "link", "set", name, "up")
            made.pop_all()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends = True
        self._thread.join(30)
        self._remove()

    def command(self, number: int) -> tuple[str, ...]:
        """The ``league`` command on a machine."""
        return (*self.inside(number), sys.executable, "-m", "leaguekit")

    def inside(self, number: int) -> tuple[str, ...]:
        """The command that runs another one on a machine."""
        return ("ip", "netns", "exec", self._space(number))

    @contextlib.contextmanager
    def partition(self, *pairs: tuple[int, int]) -> Iterator[None]:
        """Cut the network between the machines of each pair."""
        self._cut = {frozenset(pair) for pair in pairs}
        try:
            yield
        finally:
            self._cut = set()

    def _space(self, number: int) -> str:
        return f"leaguekit-{os.getpid()}-{number}"

    def _remove(self) -> None:
        for number, device in self._devices.items():
            os.close(device)
            ip("netns", "del", self._space(number))

    def _carry(self) -> None:
        """Carry packets until the end."""
        machines = {bytes(map(int, address.split("."))): number for number, address in self.addresses.items()}
        numbers, waiting = itertools.count(), list[tuple[float, int, int, bytes]]()
        while not self._ends:
            readable, _, _ = select.select([*self._devices.values()], [], [], 0.002 if waiting else 0.1)
            now = time.monotonic()
            for device in readable:
                packet = os.read(device, _MAX_PACKET)
                # Only IPv4; a device also sends router solicitations.
                sender, receiver = machines.get(packet[12:16]), machines.get(packet[16:20])
                if packet[0] >> 4 != 4 or sender is None or receiver is None:
                    continue
                self.carried += 1
                if frozenset((sender, receiver)) in self._cut or self._chance.random() < self._loss:
                    self.lost += 1
                else:
                    heapq.heappush(waiting, (now + self._seconds, next(numbers), receiver, packet))
            while waiting and waiting[0][0] <= now:
                _, _, receiver, packet = heapq.heappop(waiting)
                with contextlib.suppress(OSError):
                    os.write(self._devices[receiver], packet)
