"""Loads of large requests: metadata of all topics, topics that are made and deleted."""

from __future__ import annotations

from itertools import count

from bench.innocent.told import Told
from bench.replayer import Target, replay_targets
from bench.wire import Wire
from protocol.errors import ErrorCode
from protocol.frames.message_codec import encode_request
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.metadata import MetadataRequest

ASKERS = 50
TOPICS = 10_000
TOPICS_A_REQUEST = 500
METADATA_VERSION = 12
SLICE_S = 1.0

COMING_AND_GOING = 1_000
TIMEOUT_MS = 120_000


def metadata_of_all(port: int, told: Told) -> None:
    """Fifty connections ask for all 10,000 topics, one question at a time; a unit: an answer."""
    wire = Wire(port)
    names = [f"one-of-many-{number}" for number in range(TOPICS)]
    for first in range(0, TOPICS, TOPICS_A_REQUEST):
        make_topics(wire, names[first : first + TOPICS_A_REQUEST])
    wire.close()
    request = MetadataRequest(None, allow_auto_topic_creation=False)
    frame = encode_request(request, METADATA_VERSION, 1, "asking")
    told.ready()
    told.whole()
    while True:
        done = replay_targets([Target(port, [frame])] * ASKERS, SLICE_S)
        told.did(done.answers)


def topics_come_and_go(port: int, told: Told) -> None:
    """A request makes 1,000 topics, the next deletes them, and so on. A unit: a topic's life."""
    wire = Wire(port)
    told.ready()
    for number in count():
        names = [f"comes-and-goes-{number}-{one}" for one in range(COMING_AND_GOING)]
        make_topics(wire, names)
        request = DeleteTopicsRequest(topic_names=names, timeout_ms=TIMEOUT_MS)
        _check(wire.ask(request, 5).responses)
        told.did(len(names))
        told.whole()


def make_topics(wire: Wire, names: list[str]) -> None:
    """By one request, a partition each."""
    topics = [CreatableTopic(name, 1, 1, [], []) for name in names]
    _check(wire.ask(CreateTopicsRequest(topics, TIMEOUT_MS), 5).topics)


def _check(results: list[object]) -> None:
    codes = {one.error_code for one in results}  # type: ignore[attr-defined]
    if codes - {0}:
        raise RuntimeError(f"refused: {[ErrorCode(code).name for code in sorted(codes)]}")
