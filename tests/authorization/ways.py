"""The ways by which a client is answered, each by one who loses the right on it.

Each shows first that the right was enough, then loses it, asks again, and gives the error that
came; that nothing was told or written is asserted here. Owns no judgement of what is right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ottla.plugins.authorizer import Operation, Resource
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.authorization.secured_node import ALICE, BOB, CLOSED, Right, SecuredNode
from tests.batches import build_batch

Lose = Callable[..., None]
"""(node, principal, *rights)."""
Way = Callable[[SecuredNode, Lose], int | str]

WRITE: Right = (Operation.WRITE, Resource.TOPIC, "t")
READ: Right = (Operation.READ, Resource.TOPIC, "t")
DESCRIBE: Right = (Operation.DESCRIBE, Resource.TOPIC, "t")
BY_NAME, BY_ID = 12, 13
FETCH_BY_NAME, FETCH_BY_ID = 12, 17
REFUSED = 29


# --- Produce -------------------------------------------------------------------------------------


def produce(node: SecuredNode, version: int, acks: int = -1) -> ProduceRequest:
    batch = build_batch([Record(-1, node.scheduler.wall_ms(), b"k", b"v")])
    by_id = version >= BY_ID
    topic = TopicProduceData("" if by_id else "t", node.topic_id if by_id else bytes(16))
    topic.partition_data = [PartitionProduceData(0, batch)]
    return ProduceRequest(None, acks, 1000, [topic])


def error_of(answer: Any) -> int | str:
    if answer == CLOSED or answer is None:
        return str(answer)
    ((one,),) = [topic.partition_responses for topic in answer.responses]
    return int(one.error_code)


def prepared_produce(version: int, acks: int = -1) -> Way:
    def way(node: SecuredNode, lose: Lose) -> int | str:
        alice = node.client(ALICE)
        node.allow(ALICE, WRITE)
        for _ in range(3):
            assert error_of(alice.ask(produce(node, version, acks), version)) in (0, "None")
        assert alice.is_prepared(produce(node, version, acks), version)
        end = node.end_offset()
        lose(node, ALICE, WRITE)
        told = error_of(alice.ask(produce(node, version, acks), version))
        if told in (REFUSED, CLOSED):
            assert node.end_offset() == end
        return told

    return way


def expected_produce(node: SecuredNode, lose: Lose) -> int | str:
    """The network asks beforehand what comes of the next one, which lies where the last one lay."""
    alice = node.client(ALICE)
    node.allow(ALICE, WRITE)
    request = produce(node, BY_NAME)
    for _ in range(3):
        assert error_of(alice.ask(request, BY_NAME)) == 0
    frame = alice.frame(request, BY_NAME)
    message = memoryview(bytearray(len(frame).to_bytes(4, "big") + frame))
    assert node.handler.expect(alice.connection, message) is not None
    lose(node, ALICE, WRITE)
    expected = node.handler.expect(alice.connection, message)
    if expected is not None and expected.answer() is not None:
        return 0
    return error_of(alice.ask(request, BY_NAME))


def logged_in_anew(node: SecuredNode, lose: Lose) -> int | str:
    """The connection stays, and is somebody else's (KIP-368)."""
    alice = node.client(ALICE)
    node.allow(ALICE, WRITE)
    for _ in range(3):
        assert error_of(alice.ask(produce(node, BY_NAME), BY_NAME)) == 0
    alice.connection.authenticated(BOB)
    return error_of(alice.ask(produce(node, BY_NAME), BY_NAME))


# --- Fetch ---------------------------------------------------------------------------------------


def fetch(
    node: SecuredNode, version: int, offset: int = 0, wait_ms: int = 0, **session: int
) -> FetchRequest:
    by_id = version >= BY_ID
    part = FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topic = FetchTopic("" if by_id else "t", node.topic_id if by_id else bytes(16), [part])
    request = FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=1 << 20, topics=[topic])
    request.session_id, request.session_epoch = session.get("id", 0), session.get("epoch", -1)
    return request


def fetched(answer: Any) -> int | str:
    """The error of the one partition; without one there must be no error, and nothing."""
    parts = [part for topic in answer.responses for part in topic.partitions]
    if not parts:
        return int(answer.error_code)
    (one,) = parts
    if one.error_code:
        assert not one.records
        assert one.high_watermark == -1
    return int(one.error_code)


def write(node: SecuredNode) -> None:
    assert error_of(node.admin.ask(produce(node, BY_NAME), BY_NAME)) == 0


def prepared_fetch(version: int) -> Way:
    def way(node: SecuredNode, lose: Lose) -> int | str:
        write(node)
        alice = node.client(ALICE)
        node.allow(ALICE, READ)
        for _ in range(3):
            assert fetched(alice.ask(fetch(node, version), version)) == 0
        assert alice.is_prepared(fetch(node, version), version)
        lose(node, ALICE, READ)
        return fetched(alice.ask(fetch(node, version), version))

    return way


def fetch_in_a_session(node: SecuredNode, lose: Lose) -> int | str:
    """The request names no topic: the session does."""
    version = FETCH_BY_ID
    write(node)
    alice = node.client(ALICE)
    node.allow(ALICE, READ)
    first = alice.ask(fetch(node, version, epoch=0), version)
    assert fetched(first) == 0
    assert first.session_id

    def go_on(epoch: int) -> Any:
        request = fetch(node, version, id=first.session_id, epoch=epoch)
        request.topics = []
        return alice.ask(request, version)

    assert go_on(1).error_code == 0
    lose(node, ALICE, READ)
    write(node)
    return fetched(go_on(2))


def parked_fetch(version: int, prepared: bool, written: bool) -> Way:
    def way(node: SecuredNode, lose: Lose) -> int | str:
        write(node)
        alice = node.client(ALICE)
        node.allow(ALICE, READ)
        request = fetch(node, version, 1, 5_000)
        if prepared:
            for _ in range(3):
                assert fetched(alice.ask(request, version)) == 0
            assert alice.is_prepared(request, version)
        answer = alice.send(request, version)
        lose(node, ALICE, READ)
        if written:
            write(node)
        return fetched(answer())

    return way


# --- Metadata ------------------------------------------------------------------------------------


def metadata_by_id(node: SecuredNode, lose: Lose) -> int | str:
    alice = node.client(ALICE)
    node.allow(ALICE, DESCRIBE)
    asked = MetadataRequest([MetadataRequestTopic(node.topic_id, None)], False)
    (topic,) = alice.ask(asked, 12).topics
    assert (topic.error_code, topic.name) == (0, "t")
    lose(node, ALICE, DESCRIBE)
    (topic,) = alice.ask(asked, 12).topics
    assert topic.name is None
    assert topic.partitions == []
    return int(topic.error_code)


WAYS: dict[str, Way] = {
    "Produce, prepared": prepared_produce(BY_NAME),
    "Produce, prepared, by id": prepared_produce(BY_ID),
    "Produce, prepared, acks 0": prepared_produce(BY_NAME, 0),
    "Produce, expected": expected_produce,
    "Produce after another login": logged_in_anew,
    "Fetch, prepared": prepared_fetch(FETCH_BY_NAME),
    "Fetch, prepared, by id": prepared_fetch(FETCH_BY_ID),
    "Fetch in a session": fetch_in_a_session,
    **{
        f"Fetch, parked{how}{when}": parked_fetch(FETCH_BY_ID, prepared, written)
        for how, prepared in (("", False), (", prepared", True))
        for when, written in ((", records come", True), (", nothing comes", False))
    },
    "Metadata by id": metadata_by_id,
}
