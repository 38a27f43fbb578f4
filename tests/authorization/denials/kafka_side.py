"""The table asked of an Apache Kafka, and what it answered: `denials_kafka.json`.

Owns its connections, one for each listener and user, and the recording.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from protocol.message import Message
from protocol.messages.api_versions import ApiVersionsRequest
from tests.authorization.denials.conversation import CLOSED, NONE_DUE, NOTHING, Conversations
from tests.authorization.denials.needs import ROWS
from tests.authorization.denials.rows import BROKER, cases
from tests.authorization.reference import Entry
from tests.authorization.secured_kafka import SecuredKafka, secured_kafka
from tests.clients.wire_client import WireClient
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "denials_kafka.json"
WAIT_S = 2.0
POLL_S = 0.01
SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "auto.create.topics.enable": "true",
    "delegation.token.secret.key": "secret",
}


class KafkaSide:
    """See `conversation.Side`."""

    def __init__(self, kafka: SecuredKafka) -> None:
        self._kafka = kafka
        self._clients: dict[tuple[str, str | None], WireClient] = {}

    def ask(
        self, listener: str, user: str | None, request: Any, version: int, answered: bool = True
    ) -> Message | str:
        where = listener, user
        client = self._clients.get(where) or self._connect(where)
        try:
            if answered:
                return client.call(request, version)
            client.send(request, version, answered=False)
            client.call(ApiVersionsRequest("denials", "1"), 3)
            return NONE_DUE
        except (ConnectionError, TimeoutError) as error:
            self._clients.pop(where).close()
            return NOTHING if isinstance(error, TimeoutError) else CLOSED

    def _connect(self, where: tuple[str, str | None]) -> WireClient:
        listener, user = where
        names = ("SASL", "PLAINTEXT") if listener == BROKER else ("CONTROLLER", "OPENCONTROLLER")
        name = names[0] if user is not None else names[1]
        self._clients[where] = self._kafka.client(name, user, timeout_s=WAIT_S)
        return self._clients[where]

    def set_acls(self, entries: Iterable[Entry]) -> None:
        self._kafka.set_acls(entries)

    def wait(self) -> None:
        time.sleep(POLL_S)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


def recorded() -> dict[str, Any]:
    """Case → what it was told."""
    return json.loads(RECORDED.read_text())


def record(only: str = "", *, missing: bool = False) -> None:
    """Ask a real one: all, or `only` the cases whose names begin so, or those that are `missing`;
    the others are kept."""
    kept = recorded() if only or missing else {}
    known = set(kept) if missing else set()
    chosen = [case for case in cases(ROWS) if case.name.startswith(only) and case.name not in known]
    with secured_kafka(SETTINGS) as kafka:
        side = KafkaSide(kafka)
        # No name of an earlier run is met where a case is asked again.
        conversations = Conversations(side, int(time.time() * 1000) % 10**9)
        conversations.warm()
        for number, case in enumerate(chosen):
            if number % 50 == 0:
                print(f"{number} of {len(chosen)}: {case.name}", flush=True)
            kept[case.name] = conversations.run(case)
        side.close()
    names = [case.name for case in cases(ROWS)]
    write_json(RECORDED, {name: kept[name] for name in names if name in kept})
