"""A proxy in front of a PostgreSQL server. A test can cut its connections at any moment."""

from __future__ import annotations

import asyncio
import re
from asyncio import StreamReader, StreamWriter
from pathlib import Path
from typing import Self


class DatabaseProxy:
    """Listens on a local port, and forwards all data to the socket of the server and back."""

    def __init__(self, url: str) -> None:
        found = re.fullmatch(r"postgresql://postgres@/(\w+)\?host=([^&]+)&(search_path=\w+)", url)
        assert found is not None
        self._database, folder, self._options = found.groups()
        self._socket = Path(folder, ".s.PGSQL.5432")
        self._writers: list[StreamWriter] = []
        # Whether data is dropped instead of being forwarded. ``lost`` is set then.
        self.loses_requests = False
        self.loses_answers = False
        self.lost = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._port = 0
        await self.open()
        self.url = (
            f"postgresql://postgres:s3cret@127.0.0.1:{self._port}/{self._database}?{self._options}&sslmode=disable"
        )
        return self

    async def open(self) -> None:
        """Accept connections, at the same port as before. Does nothing if it accepts them already."""
        if self._port and self._server.is_serving():
            return
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def __aexit__(self, *_: object) -> None:
        self.close_all()

    def close_all(self) -> None:
        """Cut all connections, and accept no new ones."""
        self._server.close()
        self.cut()

    def cut(self) -> None:
        """Cut all connections, accept new ones, and drop no more data."""
        self.loses_requests = self.loses_answers = False
        self.lost.clear()
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _accept(self, near_reader: StreamReader, near_writer: StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_unix_connection(self._socket)
        self._writers += [near_writer, far_writer]
        await asyncio.gather(
            self._pump(near_reader, far_writer, "loses_requests"), self._pump(far_reader, near_writer, "loses_answers")
        )

    async def _pump(self, reader: StreamReader, writer: StreamWriter, loses: str) -> None:
        try:
            while data := await reader.read(1 << 16):
                if getattr(self, loses):
                    self.lost.set()
                else:
                    writer.write(data)
        except ConnectionError:
            pass
        finally:
            writer.close()
