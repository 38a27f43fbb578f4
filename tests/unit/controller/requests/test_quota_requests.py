"""Rights, restarts and snapshots; Kafka's own answers: `test_quota_requests_kafka`."""

from __future__ import annotations

import pytest

from controller.requests.quota_requests import refused_quotas
from ground.sliced_work import in_one_go
from ottla.plugins.authorizer import Operation
from protocol.errors import ApiError, ErrorCode
from tests.golden.quota_alteration_cases import ALICE, BOTH, alter, entry
from tests.unit.controller.controller_fixture import OneNode
from tests.unit.controller.rights_fixture import on_cluster, rights_of

RATE = "producer_byte_rate"
REQUEST = alter(entry(BOTH, (RATE, 5.0)), entry(ALICE, (RATE, 7.0)))
SET = {(("client-id", "c1"), ("user", "alice")): {RATE: 5.0}, (("user", "alice"),): {RATE: 7.0}}


@pytest.mark.parametrize("version", [0, 1])
def test_who_may_not_alter_configs_changes_nothing(version: int) -> None:
    node = OneNode().start()
    rights = rights_of(on_cluster(Operation.ALTER) | on_cluster(Operation.DESCRIBE_CONFIGS))
    answer = node.call(REQUEST, version, rights)
    assert [one.error_code for one in answer.entries] == [31, 31]
    assert node.node.image.client_quotas == {}
    allowed = node.call(REQUEST, version, rights_of(on_cluster(Operation.ALTER_CONFIGS)))
    assert [one.error_code for one in allowed.entries] == [0, 0]
    assert node.node.image.client_quotas == SET


def test_a_refusal_names_every_entity() -> None:
    answer = in_one_go(refused_quotas(REQUEST, ApiError(ErrorCode.NOT_CONTROLLER)))
    told = [[(part.entity_type, part.entity_name) for part in one.entity] for one in answer.entries]
    assert told == [[("client-id", "c1"), ("user", "alice")], [("user", "alice")]]
    assert {one.error_code for one in answer.entries} == {ErrorCode.NOT_CONTROLLER}


def test_quotas_are_there_after_a_restart() -> None:
    first = OneNode().start()
    first.call(REQUEST, 1)
    first.stop()
    assert OneNode(first.filesystem).start().node.image.client_quotas == SET


def test_quotas_come_out_of_a_snapshot() -> None:
    """The log before it is gone, so that there is no other place for them."""
    first = OneNode(metadata_log_max_record_bytes_between_snapshots=1).start()
    first.call(REQUEST, 1)
    first.settle()
    first.stop()
    names = first.filesystem.list_dir("/data/__cluster_metadata-0")
    assert any(name.endswith(".checkpoint") and not name.startswith("0" * 20) for name in names)
    assert OneNode(first.filesystem).start().node.image.client_quotas == SET
