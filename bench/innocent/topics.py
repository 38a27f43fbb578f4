"""Loads of large requests: metadata of all topics, creation and deletion of topics."""

from __future__ import annotations

from itertools import count

from bench.innocent.progress import LoadProgress
from bench.replayer import ReplayedConnection, replay_targets
from bench.wire import Wire
from protocol.errors import ErrorCode
from protocol.frames.message_codec import encode_request
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.metadata import MetadataRequest

CONNECTIONS = 50
TOPICS = 10_000
TOPICS_A_REQUEST = 500
METADATA_VERSION = 12
SLICE_S = 1.0

COMING_AND_GOING = 1_000
TIMEOUT_MS = 120_000


def metadata_of_all(port: int, progress: LoadProgress) -> None:
    """Request metadata of all 10,000 topics on fifty connections, one in flight on each.

    A unit is an answer.
    """
    wire = Wire(port)
    names = [f"one-of-many-{number}" for number in range(TOPICS)]
    for first in range(0, TOPICS, TOPICS_A_REQUEST):
        make_topics(wire, names[first : first + TOPICS_A_REQUEST])
    wire.close()
    request = MetadataRequest(None, allow_auto_topic_creation=False)
    frame = encode_request(request, METADATA_VERSION, 1, "asking")
    progress.ready()
    progress.whole()
    while True:
        done = replay_targets([ReplayedConnection(port, [frame])] * CONNECTIONS, SLICE_S)
        progress.did(done.answers)


def topics_come_and_go(port: int, progress: LoadProgress) -> None:
    """Create 1,000 topics by a request, delete them by the next, and so on.

    A unit is a topic that was created and deleted.
    """
    wire = Wire(port)
    progress.ready()
    for number in count():
        names = [f"comes-and-goes-{number}-{index}" for index in range(COMING_AND_GOING)]
        make_topics(wire, names)
        request = DeleteTopicsRequest(topic_names=names, timeout_ms=TIMEOUT_MS)
        _check_results(wire.ask(request, 5).responses)
        progress.did(len(names))
        progress.whole()


def make_topics(wire: Wire, names: list[str]) -> None:
    """Create the topics by one request, with one partition each."""
    topics = [CreatableTopic(name, 1, 1, [], []) for name in names]
    _check_results(wire.ask(CreateTopicsRequest(topics, TIMEOUT_MS), 5).topics)


def _check_results(results: list[object]) -> None:
    """Raise RuntimeError if a result is an error."""
    codes = {result.error_code for result in results}  # type: ignore[attr-defined]
    if codes - {0}:
        raise RuntimeError(f"refused: {[ErrorCode(code).name for code in sorted(codes)]}")
