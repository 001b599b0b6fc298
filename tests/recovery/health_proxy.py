"""A proxy in front of two managers, as HAProxy is one.

It asks each manager for its health, and connects callers to one that is healthy. As a program:
``python -m tests.recovery.health_proxy ADDRESS:PORT MANAGER:PORT …``
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Sequence

CHECK_SECONDS, ANSWER_SECONDS = 0.5, 1.0


class HealthProxy:
    """Listens at an address. As a context it runs in a thread of its own, so that a test can wait for processes."""

    def __init__(self, managers: Sequence[str], address: str = "127.0.0.1:0") -> None:
        self._managers = managers
        self._address = address
        self._active: str | None = None
        self._writers: set[StreamWriter] = set()
        self._listens = threading.Event()

    def __enter__(self) -> str:
        """Start it, and return its URL."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self.serve(),), daemon=True)
        self._thread.start()
        assert self._listens.wait(30)
        return f"http://{self._address}/mcp"

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(30)
        self._loop.close()

    async def serve(self) -> None:
        host, _, port = self._address.partition(":")
        server = await asyncio.start_server(self._accept, host, int(port))
        self._address = f"{host}:{server.sockets[0].getsockname()[1]}"
        self._task = asyncio.ensure_future(self._check())
        self._listens.set()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)  # type: ignore[arg-type]

    async def _check(self) -> None:
        while True:
            healthy = [manager for manager in self._managers if await self._is_healthy(manager)]
            active = self._active if self._active in healthy else next(iter(healthy), None)
            if active != self._active:
                self._active = active
                for writer in self._writers:
                    writer.transport.abort()
            await asyncio.sleep(CHECK_SECONDS)

    async def _accept(self, near_reader: StreamReader, near_writer: StreamWriter) -> None:
        if self._active is None:
            near_writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._active.split(":"))
        except OSError:
            near_writer.transport.abort()
            return
        self._writers |= {near_writer, far_writer}
        await asyncio.gather(_pump(near_reader, far_writer), _pump(far_reader, near_writer))
        self._writers -= {near_writer, far_writer}

    async def _is_healthy(self, manager: str) -> bool:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS):
                reader, writer = await asyncio.open_connection(*manager.split(":"))
                try:
                    writer.write(b"GET /health HTTP/1.1\r\nHost: %s\r\n\r\n" % self._address.encode())
                    return (await reader.readline()).split(b" ")[1:2] == [b"200"]
                finally:
                    writer.transport.abort()
        return False


async def _pump(reader: StreamReader, writer: StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


if __name__ == "__main__":
    asyncio.run(HealthProxy(sys.argv[2:], sys.argv[1]).serve())
