"""The events of a console's live view, read over HTTP as a browser's EventSource reads them."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit


class LiveEvents:
    """The offsets that a tail has sent, in order, and the reasons for which it waited."""

    def __init__(self) -> None:
        self.offsets: list[tuple[int, int]] = []
        """Partition and offset of each record."""
        self.dropped = 0
        self.waits: list[str] = []
        self.is_begun = False
        self.is_ended = False

    def take(self, event: Any) -> None:
        """Note an event of the tail."""
        self.is_begun = True
        self.offsets += [(record["partition"], record["offset"]) for record in event["records"]]
        self.dropped += event["dropped"]
        if "waiting" in event:
            self.waits.append(event["waiting"])


@contextmanager
def live_events(link: str, topic: str) -> Iterator[LiveEvents]:
    """Read the live view of a topic in another thread until the end of the context."""
    place = urlsplit(link)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=120)
    token = place.query.partition("=")[2]
    cookie = f"ottla_console_{place.port}={token}"
    connection.request("GET", f"/api/topics/{topic}/tail", headers={"cookie": cookie})
    response = connection.getresponse()
    assert response.status == 200
    events = LiveEvents()
    reader = threading.Thread(target=_read, args=(response.readline, events))
    reader.start()
    try:
        yield events
    finally:
        if connection.sock is not None:
            connection.sock.shutdown(2)
        reader.join()
        connection.close()


def _read(readline: Callable[[], bytes], events: LiveEvents) -> None:
    try:
        while line := readline():
            if line.startswith(b"event: "):
                events.is_ended = True
                return
            if line.startswith(b"data: "):
                events.take(json.loads(line.removeprefix(b"data: ")))
    except OSError:
        return
