"""A schema registry, asked for schemas by their ids: what it tells is kept.

Asked by the console and never by a browser. Answers are bounded in size and in time; where it does
not answer, it is let alone for a while, so that a page of records does not wait for each of them.
Its login is in no message.

Follows the REST API of Confluent's Schema Registry, which Karapace, Apicurio and Redpanda serve.
"""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Lock
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from broker.config.start_error import StartError
from console.messages.decoding.wire import Undecodable, UnknownSchema

TIMEOUT_S = 3.0
ANSWER_BYTES_MAX = 1024 * 1024
KEPT_MAX = 1_000
ALONE_S = 10.0
"""After it did not answer."""
UNKNOWN_S = 30.0
"""How long an id that it did not know is not asked for again."""
REFERENCES_MAX = 50
AVRO, PROTOBUF, JSON = "AVRO", "PROTOBUF", "JSON"


class Schema(NamedTuple):
    """As it was registered: the type, the text (of Protobuf: a descriptor in base64), and those
    that it refers to, each after what it needs itself."""

    kind: str
    text: str
    references: tuple[str, ...] = ()


class Registry:
    """`registry.schema(7)`, from any thread."""

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises StartError where the URL is none."""
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise StartError("--registry must be a URL such as http://localhost:8081")
        self._is_secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, port
        self.place = f"{parts.hostname}:{port}" if port else parts.hostname
        """What may be told of it."""
        self._path = parts.path.rstrip("/")
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
        self._clock = clock
        self._lock = Lock()
        self._kept: OrderedDict[int, tuple[float | None, Schema | Undecodable]] = OrderedDict()
        self._alone_until = 0.0

    def schema(self, schema_id: int) -> Schema:
        """Raises UnknownSchema where it is not known, Undecodable where nobody answers."""
        with self._lock:
            kept = self._kept.get(schema_id)
            if kept is None or (kept[0] is not None and kept[0] < self._clock()):
                kept = self._asked(schema_id)
        if isinstance(kept[1], Undecodable):
            raise type(kept[1])(str(kept[1]))
        return kept[1]

    def _asked(self, schema_id: int) -> tuple[float | None, Schema | Undecodable]:
        found: tuple[float | None, Schema | Undecodable]
        try:
            answer = self._get(f"/schemas/ids/{schema_id}")
            if answer is None:
                raise UnknownSchema(f"the registry has no schema {schema_id}")
            found = (None, self._whole(answer))
        except Undecodable as error:
            found = (self._clock() + UNKNOWN_S, error)
            if self._clock() < self._alone_until:
                return found  # not to be kept: it may answer again before that
        self._kept[schema_id] = found
        self._kept.move_to_end(schema_id)
        while len(self._kept) > KEPT_MAX:
            self._kept.popitem(last=False)
        return found

    def _whole(self, answer: dict[str, object]) -> Schema:
        """With all that it refers to."""
        texts: dict[tuple[str, int], str] = {}
        self._add_references(answer, texts)
        kind, text = answer.get("schemaType") or AVRO, answer.get("schema")
        if kind not in (AVRO, PROTOBUF, JSON) or not isinstance(text, str):
            raise Undecodable("the registry returned no schema of Avro, Protobuf or JSON")
        return Schema(kind, text, tuple(texts.values()))

    def _add_references(self, answer: dict[str, object], texts: dict[tuple[str, int], str]) -> None:
        for place in _references_of(answer):
            if place in texts:
                continue
            if len(texts) >= REFERENCES_MAX:
                raise Undecodable(f"the schema refers to more than {REFERENCES_MAX} schemas")
            subject = quote(place[0], safe="")
            found = self._get(f"/subjects/{subject}/versions/{place[1]}")
            text = None if found is None else found.get("schema")
            if found is None or not isinstance(text, str):
                raise Undecodable(f"the registry lacks {place[0]}, to which the schema refers")
            texts[place] = ""  # one that refers to itself is asked for once
            self._add_references(found, texts)
            del texts[place]
            texts[place] = text

    def _get(self, path: str) -> dict[str, object] | None:
        """The JSON object of an answer; None where there is no such thing. Raises Undecodable."""
        if self._clock() < self._alone_until:
            raise Undecodable(f"the registry at {self.place} does not answer")
        try:
            status, data = self._answer(f"{self._path}{path}?format=serialized")
        except (OSError, HTTPException) as error:
            self._alone_until = self._clock() + ALONE_S
            reason = str(error) or type(error).__name__
            raise Undecodable(f"the registry at {self.place} does not answer ({reason})") from None
        if status == 404:
            return None
        if status != 200:
            raise Undecodable(f"the registry at {self.place} answers with status {status}")
        try:
            found = json.loads(data)
        except ValueError:
            found = None
        if len(data) > ANSWER_BYTES_MAX or not isinstance(found, dict):
            raise Undecodable(f"the registry at {self.place} returned no schema")
        return found

    def _answer(self, path: str) -> tuple[int, bytes]:
        kind = HTTPSConnection if self._is_secure else HTTPConnection
        connection = kind(self._host, self._port, timeout=TIMEOUT_S)
        try:
            connection.request("GET", path, headers=self._headers)
            response = connection.getresponse()
            return response.status, response.read(ANSWER_BYTES_MAX + 1)
        finally:
            connection.close()


def _references_of(answer: dict[str, object]) -> list[tuple[str, int]]:
    """Subjects and versions."""
    listed = answer.get("references") or []
    try:
        if isinstance(listed, list):
            return [(str(one["subject"]), int(one["version"])) for one in listed]
    except (LookupError, TypeError, ValueError):
        pass  # as any other answer of another kind
    raise Undecodable("the registry returned invalid references of a schema")
