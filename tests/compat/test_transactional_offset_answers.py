"""Offsets in transactions over the network, request by request: Kafka's answers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

from tests.clients.group_conversation import prepare
from tests.clients.transactional_offsets_conversation import GOLDEN, converse
from tests.clients.wire_client import WireClient

Factory = Callable[..., Any]


def test_answers_are_those_of_apache_kafka(ottla_broker_factory: Factory) -> None:
    """TxnOffsetCommit and AddOffsetsToTxn in every version, and what OffsetFetch tells then."""
    broker = ottla_broker_factory()
    with closing(broker), ExitStack() as connections:

        def connect(client_id: str = "prepare") -> WireClient:
            return connections.enter_context(WireClient(broker.port, client_id))

        topic_id = prepare(connect())
        assert converse(connect, topic_id) == GOLDEN.read_text().splitlines()
