"""The quorum's view: what a login may not see is told, and files are no way around."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from client.refusals import Refused
from console.quorum import endpoints
from console.quorum.endpoints import ENDPOINTS
from protocol.api_keys import ApiKey
from protocol.messages.api_versions import ApiVersionsResponse
from protocol.messages.describe_cluster import DescribeClusterResponse
from protocol.messages.describe_quorum import DescribeQuorumResponse
from protocol.messages.metadata_records import NoOpRecord, TopicRecord
from tests.unit.client.scripted import ScriptedCluster, ScriptedNode
from tests.unit.console.one_console import OneCluster, answer_of, ask
from tests.unit.console.quorum.quorum_samples import (
    answer,
    batch,
    fetched,
    leader_batch,
    log_in,
)

CLUSTER_ACTION = 1 << 9


class Serving(ScriptedCluster):
    """A cluster that names these APIs."""

    apis: tuple[int, ...] = (ApiKey.DESCRIBE_QUORUM,)

    def serves(self, api_key: int) -> bool:
        return api_key in self.apis


def cluster_of(rights: int = CLUSTER_ACTION, **answers: Any) -> Serving:
    known = {
        "DescribeQuorumRequest": answer(),
        "ApiVersionsRequest": ApiVersionsResponse(),
        "DescribeClusterRequest": DescribeClusterResponse(
            cluster_id="C", cluster_authorized_operations=rights
        ),
    }
    return Serving([], known | answers)


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints.time, "sleep", lambda _: None)


def test_who_may_not_describe_it_still_sees_the_features() -> None:
    cluster = cluster_of(DescribeQuorumRequest=DescribeQuorumResponse(error_code=31))
    found = answer_of(ENDPOINTS, "/api/quorum")(OneCluster(cluster), ask())
    assert "Describe on the cluster" in found["absent"]
    assert "features" in found
    with pytest.raises(Refused):
        answer_of(ENDPOINTS, "/api/quorum/epochs")(OneCluster(cluster), ask())


def test_a_cluster_without_a_quorum_says_so() -> None:
    cluster = cluster_of()
    cluster.apis = ()
    found = answer_of(ENDPOINTS, "/api/quorum")(OneCluster(cluster), ask())
    assert "no metadata quorum" in found["absent"]


def test_the_newest_records_without_no_ops_and_then_heartbeats(tmp_path: Path) -> None:
    log_in(tmp_path, leader_batch(0, 1, 1), batch(1, NoOpRecord(), TopicRecord("t", bytes(16))))
    console = OneCluster(cluster_of(), data=(tmp_path,))
    stream = answer_of(ENDPOINTS, "/api/quorum/records")(console, ask())
    assert [one["offset"] for one in next(stream)["records"]] == [0, 2]
    assert next(stream) is None
    every = answer_of(ENDPOINTS, "/api/quorum/records")(console, ask(noops="1"))
    assert [one["offset"] for one in next(every)["records"]] == [0, 1, 2]


def test_a_cluster_elsewhere_is_asked_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    node = ScriptedNode([fetched(leader_batch(0, 7, 2), batch(1, NoOpRecord())), fetched()])
    reached: list[tuple[str, int]] = []

    def connect(host: str, port: int, *_args: object, **_named: object) -> ScriptedNode:
        reached.append((host, port))
        return node

    monkeypatch.setattr(endpoints, "BlockingClient", connect)
    console = OneCluster(cluster_of(DescribeQuorumRequest=answer(leader=2)))
    stream = answer_of(ENDPOINTS, "/api/quorum/records")(console, ask())
    first = next(stream)
    assert reached == [("two", 9093)]
    assert "node 2" in first["source"]
    assert [one["type"] for one in first["records"]] == ["LEADER_CHANGE"]
    stream.close()
    assert node.closed


def test_a_controller_that_is_not_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_args: object, **_named: object) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(endpoints, "BlockingClient", refusing)
    console = OneCluster(cluster_of(DescribeQuorumRequest=answer(leader=2)))
    absent = next(answer_of(ENDPOINTS, "/api/quorum/records")(console, ask()))["absent"]
    assert "two:9093 (Connection refused" in absent
    assert "--data" in absent and "\n" not in absent


def test_who_may_not_act_for_the_cluster_sees_no_records(tmp_path: Path) -> None:
    log_in(tmp_path, leader_batch(0, 1, 1))
    console = OneCluster(cluster_of(rights=1 << 8), data=(tmp_path,))
    with pytest.raises(Refused, match="ClusterAction"):
        next(answer_of(ENDPOINTS, "/api/quorum/records")(console, ask()))


def test_files_of_another_cluster_are_left_alone(tmp_path: Path) -> None:
    log_in(tmp_path, leader_batch(0, 1, 1), cluster="D")
    console = OneCluster(cluster_of(), data=(tmp_path,))
    absent = next(answer_of(ENDPOINTS, "/api/quorum/records")(console, ask()))["absent"]
    assert "does not report the address of its active controller" in absent
    assert "--data" in absent
    found = answer_of(ENDPOINTS, "/api/quorum/epochs")(console, ask())
    assert found["rows"] == []
    assert "--data" in found["absent"]


def test_a_page_that_opens_in_an_election_goes_on_with_the_leader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = ScriptedNode([fetched(leader_batch(0, 7, 2)), fetched(), fetched()])
    monkeypatch.setattr(endpoints, "BlockingClient", lambda *_args, **_named: node)
    cluster = cluster_of(DescribeQuorumRequest=answer(leader=-1))
    stream = answer_of(ENDPOINTS, "/api/quorum/records")(OneCluster(cluster), ask())
    first = next(stream)
    assert "election in progress" in first["source"] and first["records"] == []
    assert next(stream) is None
    cluster.answers["DescribeQuorumRequest"] = answer(leader=2)
    assert "node 2" in next(stream)["moved"]
    assert [one["type"] for one in next(stream)["records"]] == ["LEADER_CHANGE"]
    assert next(stream) is None
