"""A reverse proxy that serves another server under a path, as nginx and Caddy do."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

# Headers that are for one connection only.
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "upgrade"}


@contextmanager
def proxy(base: str, prefix: str, outside: list[str] | None = None, port: int = 0) -> Iterator[str]:
    """Serve the server at ``base`` under ``prefix``, and yield its URL there. Other paths are noted, and get 404."""
    upstream = urlsplit(base).netloc

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith(f"{prefix}/"):
                if outside is not None:
                    outside.append(self.path)
                self.send_error(404)
                return
            headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
            headers |= {"X-Forwarded-For": self.client_address[0], "Connection": "close"}
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            with (
                suppress(OSError, http.client.HTTPException),
                closing(http.client.HTTPConnection(upstream)) as connection,
            ):
                connection.request(self.command, self.path.removeprefix(prefix), body, headers)
                with connection.getresponse() as answer:
                    self.send_response(answer.status)
                    for name, value in answer.getheaders():
                        if name.lower() not in HOP_BY_HOP:
                            self.send_header(name, value)
                    self.send_header("Connection", "close")
                    self.end_headers()
                    while data := answer.read1(65536):
                        self.wfile.write(data)
                        self.wfile.flush()

        do_POST = do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{prefix}"
        finally:
            server.shutdown()
            thread.join()
