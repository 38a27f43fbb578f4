"""`cluster_requests`: registrations of controllers, levels, and who is in the quorum."""

from __future__ import annotations

import random
from typing import Any

from controller.metadata.snapshot import SnapshotId, decode_snapshot, encode_image, image_of
from controller.metadata.version import LEVELS
from controller.storage_format import format_directories
from ground.memory_filesystem import MemoryFilesystem
from protocol.errors import ErrorCode
from protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    Feature,
    Listener,
)
from protocol.messages.describe_cluster import DescribeClusterRequest
from protocol.messages.unregister_broker import UnregisterBrokerRequest
from protocol.messages.unregister_controller import UnregisterControllerRequest
from protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.unit.controller.controller_fixture import CLUSTER_ID, LOG_DIR, Context, OneNode


def started() -> OneNode:
    node = OneNode().start()
    node.register()
    return node


def register(node: OneNode, controller_id: int, incarnation: bytes = bytes(16)) -> Any:
    return node.call(
        ControllerRegistrationRequest(
            controller_id,
            incarnation,
            listeners=[Listener("CONTROLLER", f"c-{controller_id}", 9093, 0)],
            features=[Feature("metadata.version", 7, 30)],
        ),
        0,
    )


def test_a_controller_registers_and_a_snapshot_keeps_it() -> None:
    node = started()
    assert register(node, 1, b"x" * 16).error_code == ErrorCode.NONE
    image = node.node.image
    kept = image.controllers[1]
    assert (kept.incarnation_id, kept.features) == (b"x" * 16, {"metadata.version": (7, 30)})
    assert (kept.endpoints["CONTROLLER"].host, kept.endpoints["CONTROLLER"].port) == ("c-1", 9093)
    content = decode_snapshot(encode_image(image, 0))
    assert image_of(content, SnapshotId(image.offset + 1, image.epoch)) == image


def test_describe_cluster_tells_of_the_controllers() -> None:
    node = started()
    for controller_id in (1, 2):
        register(node, controller_id)
    answer = node.call(DescribeClusterRequest(endpoint_type=2), 2)
    assert (answer.cluster_id, answer.controller_id, answer.endpoint_type) == (CLUSTER_ID, 1, 2)
    found = [(one.broker_id, one.host, one.port) for one in answer.brokers]
    assert found == [(1, "c-1", 9093), (2, "c-2", 9093)]


def test_a_listener_that_a_controller_does_not_have() -> None:
    node = started()
    register(node, 1)
    answers: list[Any] = []
    context = Context(2, 60, "OTHER")
    node.node.apis.handle(context, DescribeClusterRequest(endpoint_type=2), answers.append)
    assert answers[0].brokers == []


def test_brokers_are_asked_of_brokers() -> None:
    node = started()
    wrong = node.call(DescribeClusterRequest(endpoint_type=1), 2)
    assert wrong.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert node.call(DescribeClusterRequest(), 0).error_code == ErrorCode.INVALID_REQUEST
    unknown = node.call(DescribeClusterRequest(endpoint_type=7), 2)
    assert unknown.error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE


def test_unregister() -> None:
    node = started()
    node.register(2)
    answer = node.call(UnregisterBrokerRequest(2), 0)
    assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, "")
    assert list(node.node.image.brokers) == [1]


def test_a_controller_is_unregistered_for_good_and_may_come_back() -> None:
    node = started()
    for controller_id in (1, 2):
        register(node, controller_id)
    gone = node.call(UnregisterControllerRequest(2), 0)
    assert (gone.error_code, list(node.node.image.controllers)) == (ErrorCode.NONE, [1])
    again = node.call(UnregisterControllerRequest(2), 0)
    assert again.error_code == ErrorCode.CONTROLLER_ID_NOT_REGISTERED
    image = node.node.image
    content = decode_snapshot(encode_image(image, 0))
    assert image_of(content, SnapshotId(image.offset + 1, image.epoch)) == image
    register(node, 2)
    assert list(node.node.image.controllers) == [1, 2]


def test_the_active_controller_stays_registered() -> None:
    node = started()
    register(node, 1)
    assert node.call(UnregisterControllerRequest(1), 0).error_code == ErrorCode.INVALID_REQUEST
    assert list(node.node.image.controllers) == [1]


def test_controllers_are_unregistered_from_4_4_iv2_on() -> None:
    earlier = MemoryFilesystem()
    levels = {"metadata.version": LEVELS["4.4-IV1"]}
    format_directories(
        earlier, [LOG_DIR], LOG_DIR, CLUSTER_ID, 1, random.randbytes, 0, features=levels
    )
    node = OneNode(earlier).start()
    node.register()
    register(node, 2)
    refused = node.call(UnregisterControllerRequest(2), 0)
    assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert list(node.node.image.controllers) == [2]


def test_features_have_no_deadline() -> None:
    """Kafka changes them whatever the time-out says."""
    node = started()
    level = node.node.image.features["eligible.leader.replicas.version"]
    update = FeatureUpdateKey("eligible.leader.replicas.version", 1 - level, upgrade_type=1 + level)
    assert node.call(UpdateFeaturesRequest(0, [update]), 2).error_code == ErrorCode.NONE
    assert node.node.image.features.get("eligible.leader.replicas.version", 0) == 1 - level
