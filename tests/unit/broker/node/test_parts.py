from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broker.config.parse import single_node_config
from broker.node.parts import BrokerParts, _ask_itself
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.request_handler import RequestHandler
from protocol.api_keys import ApiKey
from protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from tests.unit.broker.node_fixture import Running


def test_a_request_of_a_broker_to_itself_goes_by_its_own_table() -> None:
    asked: list[Any] = []

    def handle(context: RequestContext, request: Any, respond: Respond) -> None:
        asked.append((context.api_key, context.api_version, context.listener_name, request))
        respond("written")

    requests = RequestHandler([Api(ApiKey.WRITE_TXN_MARKERS, 1, 2, handle)])
    request, answers = WriteTxnMarkersRequest(), list[Any]()
    _ask_itself(single_node_config(), requests, request, answers.append)
    assert asked == [(ApiKey.WRITE_TXN_MARKERS, 2, "PLAINTEXT", request)]
    assert answers == ["written"]


@pytest.mark.parametrize(
    ("topic", "coordinator"),
    [
        ("__consumer_offsets", "groups"),
        ("__transaction_state", "transactions"),
        ("__share_group_state", "shares"),
        ("t", None),
    ],
)
def test_who_leads_a_partition_of_an_internal_topic_coordinates(
    tmp_path: Path, topic: str, coordinator: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running(tmp_path)
    parts = parts_of(running)
    told: list[tuple[str, str, int]] = []
    for name in ("groups", "transactions", "shares"):
        kind = type(getattr(parts, name))
        monkeypatch.setattr(kind, "on_elected", lambda _, *at, name=name: told.append((name, *at)))
        monkeypatch.setattr(kind, "on_resigned", lambda _, at, name=name: told.append((name, at)))
    (changed,) = parts.replicas._leadership_listeners
    partition: Any = SimpleNamespace(topic=topic, index=3, leader_epoch=5)
    changed(partition, True)
    changed(partition, False)
    running.stop()
    assert told == ([] if coordinator is None else [(coordinator, 3, 5), (coordinator, 3)])


def test_before_there_is_an_internal_topic_it_has_the_partitions_that_it_will_have(
    tmp_path: Path,
) -> None:
    running = Running(tmp_path, **{"offsets.topic.num.partitions": "7"})
    parts = parts_of(running)
    assert parts.groups.partition_for("g") == ord("g") % 7
    assert parts.transactions.partition_for("x") == ord("x") % 50
    running.stop()


def parts_of(running: Running) -> BrokerParts:
    assert running.node.broker is not None
    return running.node.broker.parts


def test_a_heartbeat_is_given_up_before_the_session_is_over(tmp_path: Path) -> None:
    running = Running(tmp_path, **{"broker.session.timeout.ms": "2500"})
    senders = running.node.shared._senders
    assert [sender.timeout_ms for sender in senders if sender.timeout_ms != 30_000] == [1250]
    running.stop()
