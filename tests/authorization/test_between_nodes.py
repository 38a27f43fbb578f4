"""Between nodes, in virtual time: what a broker passes on is judged by the controller, for the
client; and who may not act for the cluster is no broker any more.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from controller.authorization.standard_authorizer import StandardAuthorizer
from controller.metadata.acl import Acl, AclsImage
from ottla.plugins.authorizer import CLUSTER_NAME, Resource
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from simulation.machines.layout import Layout
from simulation.machines.sim_broker import SimBroker
from tests.authorization.random_acls import ALLOW, LITERAL
from tests.simulation.scenario import Scenario
from tests.unit.broker.fake_connection import Connection, Reply

ROOT, ALICE, NODES = "User:root", "User:alice", "User:ANONYMOUS"
ALL = 2
SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"{ROOT};{NODES}",
    "allow.everyone.if.no.acl.found": "true",
}
ON_CLUSTER = AclCreation(Resource.CLUSTER, CLUSTER_NAME, LITERAL, ROOT, "*", ALL, ALLOW)

OF_ROOT = Acl(Resource.CLUSTER, CLUSTER_NAME, LITERAL, ROOT, "*", ALL, ALLOW)


class SecuredStory(Scenario):
    """Brokers 1 to 3 and the controller 101."""

    def __init__(self) -> None:
        super().__init__(1, layout=Layout.apart(3, 1), properties=SETTINGS)

    def broker(self, number: int) -> SimBroker:
        return next(one for one in self.brokers if one.node_id == number)

    def ask_as(self, principal: str, request: Any, version: int, to: SimBroker) -> Any:
        """What a broker answers to somebody."""
        connection, reply = Connection(), Reply()
        connection.principal = principal
        frame = memoryview(bytearray(encode_request(request, version, 5, "me")))[4:]
        assert to.node is not None
        to.node.handle(connection, frame, reply)
        self.run_until(lambda: bool(reply) or reply.closed, 10_000)
        parts = reply[0] if isinstance(reply[0], list) else [reply[0]]
        data = memoryview(b"".join(bytes(part) for part in parts))[4:]
        return decode_response(ApiKey(request.API_KEY), data, version)[1]

    def set_acls(self, *made: AclCreation) -> None:
        """Also these, known to each node."""
        results = self.ask_as(ROOT, CreateAclsRequest(list(made)), 3, self.broker(1)).results
        assert not any(one.error_code for one in results)
        self.run_for(500)

    def end_offsets(self, topic: str) -> dict[int, int]:
        """By node."""
        return {
            one.node_id: one.replicas.partition(topic, 0).log.log_end_offset
            for one in self.brokers
            if one.is_broker
        }


def test_what_is_passed_on_is_judged_for_the_client() -> None:
    story = SecuredStory()

    def created(name: str) -> list[tuple[int, int]]:
        """By each broker: whether alice may create a topic, and whether she may grow `made`."""
        codes = []
        for broker in (story.broker(number) for number in (1, 2, 3)):
            topic = CreatableTopic(f"{name}-{broker.node_id}", 1, 1)
            create = CreateTopicsRequest([topic], 5_000)
            grow = CreatePartitionsRequest([CreatePartitionsTopic("made", 2, None)], 5_000, True)
            (one,) = story.ask_as(ALICE, create, 7, broker).topics
            (other,) = story.ask_as(ALICE, grow, 3, broker).results
            codes.append((one.error_code, other.error_code))
        return codes

    def tell() -> None:
        story.ask_as(
            ROOT, CreateTopicsRequest([CreatableTopic("made", 1, 1)], 5_000), 7, story.broker(1)
        )
        story.run_for(500)
        assert created("before") == [(0, 0)] * 3
        of_others = AclCreation(Resource.TOPIC, "made", LITERAL, ROOT, "*", ALL, ALLOW)
        story.set_acls(ON_CLUSTER, of_others)
        assert created("after") == [(0, 29)] * 3
        prefix = AclCreation(Resource.TOPIC, "last", 4, ROOT, "*", ALL, ALLOW)
        story.set_acls(prefix)
        assert created("last") == [(29, 29)] * 3
        asked = MetadataRequest([MetadataRequestTopic(name="last-new")], True)
        (topic,) = story.ask_as(ALICE, asked, 12, story.broker(2)).topics
        assert topic.error_code == 29
        assert story.view.newest_image().topics.get("last-new") is None

    story.run(tell)


def test_who_may_not_act_for_the_cluster_copies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader knows an entry by which the others may not; they follow the controller still."""
    refusals = logging.getLogger("ottla.controller.node_refusals")
    monkeypatch.setattr(refusals, "disabled", True)  # an error of the log fails a story
    story = SecuredStory()

    def tell() -> None:
        story.ask_as(
            ROOT, CreateTopicsRequest([CreatableTopic("c", 1, 3)], 5_000), 7, story.broker(1)
        )
        story.run_for(1_000)
        leader = story.leader("c")
        known = [AclsImage()]
        admission = leader.node.broker.requests.admission
        admission.judge_by(StandardAuthorizer(lambda: known[0], [ROOT], True))
        story.produce("c", 0, leader)
        story.run_for(500)
        assert story.end_offsets("c") == {1: 1, 2: 1, 3: 1}
        known[0] = known[0].changed({bytes(16): OF_ROOT})
        admission.changed()
        story.produce("c", 0, leader, acks=1)
        story.run_for(500)
        assert story.end_offsets("c") == {1: 1, 2: 1, 3: 1, leader.node_id: 2}
        known[0] = AclsImage()
        admission.changed()
        story.run_for(3_000)
        assert story.end_offsets("c") == {1: 2, 2: 2, 3: 2}

    story.run(tell)
