"""Members of a share group and of a streams group, and a transaction that hangs.

Stock Python clients have none of these, so this module sends the requests itself. Needs a broker
that serves them: Apache Kafka.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from client.cluster import ClusterClient
from client.core.producing import produce_request
from client.refusals import Refused
from protocol.errors import ErrorCode
from protocol.frames.message_codec import Request, answer_to
from protocol.messages.produce import ProduceResponse
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    Topology,
)
from protocol.records import RecordBatchBuilder
from tests.tools.waiting import wait_until

SHARE, STREAMS = "packers", "totals"
PRODUCE_VERSION = 11
"""A version of Produce whose transactional batches need no verification (KIP-890, part 1)."""
_DEADLINE_S = 60.0
_LATER = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


def join_other_groups(bootstrap: str, topic: str) -> None:
    """Let a member join the share group SHARE and another the streams group STREAMS, which read the
    topic."""
    with ClusterClient(bootstrap, None) as cluster:
        _join(
            cluster,
            SHARE,
            lambda member: ShareGroupHeartbeatRequest(SHARE, member, 0, None, [topic]),
        )
        topology = Topology(0, [Subtopology("0", source_topics=[topic])])
        _join(
            cluster,
            STREAMS,
            lambda member: StreamsGroupHeartbeatRequest(
                STREAMS,
                member,
                0,
                rebalance_timeout_ms=60_000,
                topology=topology,
                active_tasks=[],
                standby_tasks=[],
                warmup_tasks=[],
                process_id=str(uuid.uuid4()),
            ),
        )


def leave_hanging(bootstrap: str, topic: str, producer_id: int, old_ms: int) -> None:
    """Append a record of a transaction to partition 0 that no coordinator knows, with a timestamp
    of `old_ms` before now.

    The broker needs `transaction.partition.verification.enable=false`.
    """
    now_ms = int(time.time() * 1000)
    builder = RecordBatchBuilder(
        producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    builder.append(None, b'{"at": "hanging"}', now_ms - old_ms, ())
    request = produce_request((topic, 0), builder.build(), -1, 30_000)
    request.transactional_id = f"forgotten-{producer_id}"
    with ClusterClient(bootstrap, None) as cluster:
        wait_until(lambda: _is_led(cluster, topic), f"{topic} has a leader")
        answer = cluster.call_at(cluster.broker_ids[0], request, ProduceResponse, PRODUCE_VERSION)
    (response,) = answer.responses[0].partition_responses
    assert response.error_code == 0, ErrorCode(response.error_code).name


def _is_led(cluster: ClusterClient, topic: str) -> bool:
    """Return whether the broker knows a new topic and its leaders."""
    try:
        cluster.led_topics([topic])
    except Refused:
        return False
    return True


def _join(cluster: ClusterClient, group: str, request_of: Callable[[str], Request]) -> None:
    """Send a member's first heartbeat to the coordinator, again while the coordinator loads."""
    request = request_of(str(uuid.uuid4()))
    deadline_s = time.monotonic() + _DEADLINE_S
    while True:
        answer = cluster.call_at(cluster.coordinator(group), request, answer_to(request))
        code = getattr(answer, "error_code", None)
        if code not in _LATER:
            assert code == 0, (ErrorCode(code).name, getattr(answer, "error_message", None))
            return
        assert time.monotonic() < deadline_s, f"{group} has no coordinator"
        time.sleep(0.1)
