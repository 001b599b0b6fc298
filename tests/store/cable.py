"""A way to a PostgreSQL server that can be cut, at the moment that a test wants."""

from __future__ import annotations

import asyncio
import re
from asyncio import StreamReader, StreamWriter
from pathlib import Path
from typing import Self


class Cable:
    """Listens on a port of this machine and passes everything on to the server's socket, and back."""

    def __init__(self, url: str) -> None:
        found = re.fullmatch(r"postgresql://postgres@/(\w+)\?host=([^&]+)&(search_path=\w+)", url)
        assert found is not None
        self._database, folder, self._options = found.groups()
        self._socket = Path(folder, ".s.PGSQL.5432")
        self._writers: list[StreamWriter] = []
        # What is lost is heard of here, and goes no further.
        self.loses_requests = False
        self.loses_answers = False
        self.lost = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._plug_in, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"postgresql://postgres:s3cret@127.0.0.1:{port}/{self._database}?{self._options}&sslmode=disable"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.unplug()

    def unplug(self) -> None:
        """Cut every connection, and let nobody in any more."""
        self._server.close()
        self.cut()

    def cut(self) -> None:
        """Cut every connection; new ones may come. Nothing is lost any more."""
        self.loses_requests = self.loses_answers = False
        self.lost.clear()
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _plug_in(self, near_reader: StreamReader, near_writer: StreamWriter) -> None:
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
