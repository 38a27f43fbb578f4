"""A schema registry, which the console asks for schemas by their ids; schemas are kept.

Only the console asks it, never a browser. Responses are bounded in size and in time. A registry
that does not answer is left alone for a while, so a page of records does not wait for each of them.
Its login is in no message. No lock is held while it is asked: threads that want the same id wait
for one request, others go on.

Follows the REST API of Confluent's Schema Registry, which Karapace, Apicurio and Redpanda serve.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import BoundedSemaphore, Event, Lock
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from broker.config.start_error import StartError
from console.messages.decoding.registry_login import RegistryLogin, login_in_url
from console.messages.decoding.wire import Undecodable, UnknownSchema

TIMEOUT_S = 3.0
ANSWER_BYTES_MAX = 1024 * 1024
KEPT_MAX = 1_000
ALONE_S = 10.0
"""The time for which a registry is not asked after it did not answer."""
UNKNOWN_S = 30.0
"""The time after which an id that the registry lacked is looked up again."""
REQUESTS_AT_ONCE = 4
REFERENCES_MAX = 50
AVRO, PROTOBUF, JSON = "AVRO", "PROTOBUF", "JSON"


class Schema(NamedTuple):
    """A registered schema: its type, its text (for Protobuf a descriptor in base64), and the texts
    of the schemas to which it refers, each after those that it needs."""

    kind: str
    text: str
    references: tuple[str, ...] = ()


Kept = tuple[float | None, Schema | Undecodable]
"""The result for an id, and the time at which it expires; None: never."""


class Registry:
    """A client of a schema registry for all threads: `registry.schema(7)`."""

    def __init__(
        self,
        url: str,
        login: RegistryLogin | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare requests to the registry at `url`. Raises StartError for an invalid URL.

        Without `login`, the login in the URL is used, if it has one.
        """
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
        """The registry's address, without a login, for messages."""
        self._path = parts.path.rstrip("/")
        self._login = login or RegistryLogin(login_in_url(parts.username, parts.password))
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if self._login.authorization is not None:
            self._headers["Authorization"] = self._login.authorization
        self._clock = clock
        self._lock = Lock()
        self._requests = BoundedSemaphore(REQUESTS_AT_ONCE)
        self._kept: OrderedDict[int, Kept] = OrderedDict()
        self._asked: dict[int, Event] = {}
        """The ids for which a thread is asking; the event is set when it has a result."""
        self._alone_until = 0.0

    def schema(self, schema_id: int) -> Schema:
        """Return the schema of an id. Raises UnknownSchema if the registry lacks it, Undecodable if
        it does not answer."""
        result = self._known(schema_id)
        while result is None:
            with self._lock:
                asking = self._asked.get(schema_id)
                if asking is None:
                    self._asked[schema_id] = mine = Event()
            if asking is not None:
                asking.wait()
                result = self._known(schema_id)
                continue
            try:
                with self._requests:
                    result = self._ask(schema_id)
            finally:
                with self._lock:
                    del self._asked[schema_id]
                mine.set()
        if isinstance(result, Undecodable):
            raise type(result)(str(result))
        return result

    def _known(self, schema_id: int) -> Schema | Undecodable | None:
        """Return the result that is kept; while the registry is left alone, that it does not
        answer; None if it must be asked."""
        with self._lock:
            kept = self._kept.get(schema_id)
            if kept is not None and (kept[0] is None or kept[0] >= self._clock()):
                return kept[1]
            return self._unreachable() if self._clock() < self._alone_until else None

    def _ask(self, schema_id: int) -> Schema | Undecodable:
        """Ask the registry for a schema, and keep the result."""
        result: Schema | Undecodable
        expires: float | None = None
        try:
            answer = self._get(f"/schemas/ids/{schema_id}")
            if answer is None:
                raise UnknownSchema(f"the registry has no schema {schema_id}")
            result = self._whole(answer)
        except Undecodable as error:
            result, expires = error, self._clock() + UNKNOWN_S
            if self._clock() < self._alone_until:
                return result  # not kept: the registry may answer again before that
        with self._lock:
            self._kept[schema_id] = (expires, result)
            self._kept.move_to_end(schema_id)
            while len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        return result

    def _whole(self, answer: dict[str, object]) -> Schema:
        """Return the schema in a response, with all schemas to which it refers."""
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
            version = self._get(f"/subjects/{subject}/versions/{place[1]}")
            text = None if version is None else version.get("schema")
            if version is None or not isinstance(text, str):
                raise Undecodable(f"the registry lacks {place[0]}, to which the schema refers")
            texts[place] = ""  # a schema that refers to itself is read once
            self._add_references(version, texts)
            del texts[place]
            texts[place] = text

    def _get(self, path: str) -> dict[str, object] | None:
        """Return the JSON object of a response, None for status 404. Raises Undecodable."""
        if self._clock() < self._alone_until:
            raise self._unreachable()
        try:
            status, data = self._answer(f"{self._path}{path}?format=serialized")
        except (OSError, HTTPException) as error:
            self._alone_until = self._clock() + ALONE_S
            reason = str(error) or type(error).__name__
            raise Undecodable(f"the registry at {self.place} does not answer ({reason})") from None
        if status == 404:
            return None
        if status in (401, 403):
            raise Undecodable(
                f"the registry at {self.place} rejects the console's login with status {status}"
            )
        if status != 200:
            raise Undecodable(f"the registry at {self.place} answers with status {status}")
        try:
            parsed = json.loads(data)
        except ValueError:
            parsed = None
        if len(data) > ANSWER_BYTES_MAX or not isinstance(parsed, dict):
            raise Undecodable(f"the registry at {self.place} returned no schema")
        return parsed

    def _unreachable(self) -> Undecodable:
        return Undecodable(f"the registry at {self.place} does not answer")

    def _answer(self, path: str) -> tuple[int, bytes]:
        connection = (
            HTTPSConnection(
                self._host, self._port, timeout=TIMEOUT_S, context=self._login.tls_context
            )
            if self._is_secure
            else HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
        )
        try:
            connection.request("GET", path, headers=self._headers)
            response = connection.getresponse()
            return response.status, response.read(ANSWER_BYTES_MAX + 1)
        finally:
            connection.close()


def _references_of(answer: dict[str, object]) -> list[tuple[str, int]]:
    """Return the subjects and versions to which a response refers. Raises Undecodable."""
    listed = answer.get("references") or []
    try:
        if isinstance(listed, list):
            return [(str(one["subject"]), int(one["version"])) for one in listed]
    except (LookupError, TypeError, ValueError):
        pass  # rejected below
    raise Undecodable("the registry returned invalid references of a schema")
