"""A schema registry on loopback: what a test has put into it, over HTTP; and schemas for it.

Owns the server's thread and what was asked of it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

E = {"type": "enum", "name": "E", "symbols": ["A", "B"]}


def record(*fields: Any, **more: Any) -> str:
    """A record's schema; a field is a name, a type and, where there is one, a default."""
    names = ("name", "type", "default")
    named = [dict(zip(names, field, strict=False)) for field in fields]
    return json.dumps({"type": "record", "name": "O", "fields": named, **more})


@dataclass
class FakeRegistry:
    """Answers by path; what is not there is a 404, as Confluent's registry says it."""

    url: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    """JSON by path; bytes as they are; a number is the status of an error."""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """Paths, and the header Authorization."""

    def register(self, subject: str, number: int, schema: str, **more: Any) -> None:
        """The subject's latest version from now on."""
        one = {"schema": schema, **more}
        self.answers[f"/schemas/ids/{number}"] = one
        self.answers[f"/subjects/{subject}/versions/latest"] = {**one, "id": number}


@contextmanager
def fake_registry() -> Iterator[FakeRegistry]:
    """Serving until the block ends."""
    registry = FakeRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.asked.append((self.path, self.headers["Authorization"]))
            answer = registry.answers.get(self.path, 404)
            status = answer if isinstance(answer, int) else 200
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
