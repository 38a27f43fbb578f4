"""A schema registry on this machine, for the tests of this folder: paths and what they answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class OneRegistry:
    """`answers`: by path without the query, (status, JSON or bytes); all else is 404."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[str] = []
        self.logins: list[str | None] = []
        self.url = ""


@contextmanager
def registry() -> Iterator[OneRegistry]:
    """Serves until the block ends."""
    one = OneRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            one.asked.append(self.path)
            one.logins.append(self.headers.get("Authorization"))
            status, answer = one.answers.get(path, (404, {"error_code": 40403}))
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://elsewhere.example/")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    one.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield one
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
