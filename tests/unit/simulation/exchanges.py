"""Made-up exchanges for invariants: clients' requests and the responses that they received."""

from __future__ import annotations

from typing import Any

from protocol.message import Message
from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol.records import Record
from simulation.network.sim_network import Exchange
from simulation.users.user_run import UserRun
from tests.batches import build_batch


def answered_exchange(
    request: Message, response: Any = None, *, version: int = 7, at_ms: float = 1.0
) -> Exchange:
    """A request that a broker handled, and answered at once."""
    exchange = Exchange(1, "client", request, version, at_ms, node="broker-1")
    exchange.handled_ms = exchange.answered_ms = at_ms
    if response is not None:
        exchange.response = response
        exchange.received_ms = at_ms
        exchange.outcome = "ok"
    return exchange


def batch(*values: bytes, base: int = 0, **options: Any) -> bytes:
    """A batch of records with these values."""
    records = [Record(base + index, 0, None, value, ()) for index, value in enumerate(values)]
    return bytes(build_batch(records, base_offset=base, **options))


def produced(data: bytes, base: int, *, acks: int = -1, error: int = 0) -> Exchange:
    """A Produce into t-0."""
    request = ProduceRequest(
        None, acks, 1000, [TopicProduceData("t", partition_data=[PartitionProduceData(0, data)])]
    )
    one = PartitionProduceResponse(0, error, base)
    return answered_exchange(
        request, ProduceResponse([TopicProduceResponse("t", partition_responses=[one])])
    )


def fetched(data: bytes, high_watermark: int) -> Exchange:
    """A Fetch of t-0."""
    one = PartitionData(0, 0, high_watermark, records=data)
    topic = FetchableTopicResponse("t", partitions=[one])
    return answered_exchange(
        FetchRequest(max_wait_ms=100), FetchResponse(responses=[topic]), version=12
    )


def result_of(run: UserRun, op: str, client: str | None = "client", **args: Any) -> Any:
    """What an operation gives; AssertionError with its error."""
    if client is not None:
        args = {"timeout_ms": 30_000.0, "idempotent": True, **args}
    run.submit(1, client, op, args)
    run.advance()
    (done,) = run.take_done()
    assert "error" not in done, done["error"]
    return done["result"]


def started(seed: int = 1, **options: Any) -> UserRun:
    """A cluster that serves, by default without faults, with one partition t-0."""
    run = UserRun(seed, **{"faults": "none", **options})
    run.begin()
    result_of(run, "create_topic", topic="t", partitions=1, replication=-1, configs={})
    return run


def write(run: UserRun, *values: bytes, **options: Any) -> list[list[int]]:
    """Values into t-0, one after the other: where each is."""
    where = {"topic": "t", "partition": 0, "acks": -1, **options}
    given = where.pop("records", None)
    return [
        result_of(run, "produce", records=given or [{"key": None, "value": value}], **where)
        for value in values
    ]
