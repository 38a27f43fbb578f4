"""The first group, and the first transaction, of a fresh broker find a coordinator that serves.

Kafka answers COORDINATOR_NOT_AVAILABLE while the topic is made, and librdkafka asks again a
second later. How long it takes: `python -m bench.first_group`.
"""

from __future__ import annotations

from ottla.testing.broker_process import BrokerProcess
from protocol.errors import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.clients.wire_client import WireClient

GROUP, TRANSACTION = 0, 1


def test_the_first_answer_names_a_coordinator_that_serves() -> None:
    with BrokerProcess() as broker, WireClient(broker.port) as client:
        for kind in (GROUP, TRANSACTION):
            asked = FindCoordinatorRequest(key_type=kind, coordinator_keys=["first"])
            (found,) = client.call(asked, 6).coordinators
            assert (found.error_code, found.port) == (ErrorCode.NONE, broker.port)
        joining = JoinGroupRequest(
            "first", 6_000, 6_000, "", None, "consumer", [JoinGroupRequestProtocol("range", b"")]
        )
        assert client.call(joining, 9).error_code == ErrorCode.MEMBER_ID_REQUIRED
        begun = client.call(InitProducerIdRequest("first", 60_000), 5)
        assert begun.error_code == ErrorCode.NONE
