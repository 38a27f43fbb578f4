from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from broker.metrics import Metrics
from broker.node.metrics.share_fetch_metrics import register_share_fetch_metrics
from broker.node.share_fetching import SHARE_FETCH_KEYS, NodeShareFetching
from broker.requests.context import RequestContext
from controller.authorization.rights import UNLIMITED
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from protocol.messages.metadata_records import FeatureLevelRecord
from protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from protocol.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from tests.unit.broker.apis.share_fetch.share_fixture import Coordinator
from tests.unit.broker.replica_fixture import Replicas, topic_id_of
from tests.unit.broker.sliced_fixture import Turns


class Node:
    """A node's share groups at its leaders, for the topic `t`."""

    def __init__(self, folder: Path) -> None:
        self.replicas = Replicas(str(folder))
        self.fetching = NodeShareFetching(
            self.replicas.config,
            self.replicas,
            self.replicas.manager,
            Coordinator,
            lambda: lambda _key, _letter, done: done(),
        )
        self.metrics = Metrics()
        register_share_fetch_metrics(self.metrics, self.fetching, self.replicas.manager)
        self.replicas.replay(FeatureLevelRecord("share.version", 1))
        self.replicas.create("t")

    def ask(self, request: Any) -> Any:
        """Return the answer to a request of the connection `c`."""
        apis = {api.key: api for api in self.fetching.apis(Turns().answers)}
        key = ApiKey(request.API_KEY)
        answers: list[Any] = []
        context = RequestContext(key, 2, 1, "test", "here", "PLAINTEXT", "c", UNLIMITED)
        apis[key].handle(context, request, answers.append)
        (answer,) = answers
        return answer

    def shown(self, name: str) -> dict[str, float]:
        """Return the samples of a metric, by their labels as text."""
        for family in self.metrics.families():
            if family.name == f"kafka_server_{name}":
                return {",".join(labels.values()): value for labels, value in family.samples}
        raise AssertionError(f"no metric {name}")


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_share_groups_begin_with_the_first_request(node: Node) -> None:
    node.fetching.connection_closed("c")
    node.fetching.metadata_changed()
    assert node.fetching.begun_manager is None
    (fetch, acknowledge) = node.fetching.apis(Turns().answers)
    assert (fetch.key, acknowledge.key) == SHARE_FETCH_KEYS
    assert [(api.oldest, api.latest) for api in (fetch, acknowledge)] == [
        STABLE_VERSIONS[key] for key in SHARE_FETCH_KEYS
    ]
    assert node.fetching.begun_manager is node.fetching.manager


def test_a_closed_connection_ends_its_session(node: Node) -> None:
    topics = [FetchTopic(topic_id_of("t"), [FetchPartition(0)])]
    node.ask(ShareFetchRequest("g", "m", topics=topics, max_records=5))
    assert len(node.fetching.manager.sessions) == 1
    node.fetching.connection_closed("another")
    assert len(node.fetching.manager.sessions) == 1
    node.fetching.connection_closed("c")
    assert len(node.fetching.manager.sessions) == 0


def test_a_cluster_without_share_groups_ends_all_sessions(node: Node) -> None:
    topics = [FetchTopic(topic_id_of("t"), [FetchPartition(0)])]
    node.ask(ShareFetchRequest("g", "m", topics=topics, max_records=5))
    node.replicas.replay(FeatureLevelRecord("share.version", 0))
    node.fetching.metadata_changed()
    assert len(node.fetching.manager.sessions) == 0
    assert node.fetching.manager.partitions.keys() == []


def test_the_metrics_are_there_before_the_first_request(node: Node) -> None:
    acknowledged = node.shown("sharegroupmetrics_recordacknowledgements")
    assert acknowledged == {"Accept": 0, "Release": 0, "Reject": 0, "Renew": 0}
    assert node.shown("sharesessioncache_sharesessionscount") == {"": 0}
    assert node.shown("sharegroupmetrics_partitionloadtimems") == {}
    assert node.shown("sharepartitionmetrics_inflightmessagecount") == {}


def test_the_metrics_of_share_groups(node: Node) -> None:
    topic_id = topic_id_of("t")
    topics = [FetchTopic(topic_id, [FetchPartition(0)])]
    node.ask(ShareFetchRequest("g", "m", topics=topics, max_records=5))
    node.replicas.append("t", b"a", b"b", b"c")
    node.ask(ShareFetchRequest("g", "m", 1, max_records=5))
    batches = [AcknowledgementBatch(0, 1, [1, 3])]
    acknowledged = [AcknowledgeTopic(topic_id, [AcknowledgePartition(0, batches)])]
    node.ask(ShareAcknowledgeRequest("g", "m", 2, topics=acknowledged))
    expected = {
        "sharegroupmetrics_recordacknowledgements": {
            "Accept": 1,
            "Release": 0,
            "Reject": 1,
            "Renew": 0,
        },
        "sharesessioncache_sharesessionscount": {"": 1},
        "sharesessioncache_sharepartitionscount": {"": 1},
        "sharesessioncache_sharesessionevictions": {"": 0},
        "delayedsharefetchmetrics_expires": {"": 0},
        "sharepartitionmetrics_inflightmessagecount": {"g,t,0": 1},  # the last; two are final
        "sharepartitionmetrics_inflightbatchcount": {"g,t,0": 1},
        "sharepartitionmetrics_acquisitionlocktimeout": {"g,t,0": 0},
    }
    assert {name: node.shown(name) for name in expected} == expected
    ratios = node.shown("sharegroupmetrics_requesttopicpartitionsfetchratio")
    assert (ratios["g,+Inf"], ratios["g,99"], ratios["g"]) == (2, 0, 200)
    assert node.shown("sharegroupmetrics_partitionloadtimems")["+Inf"] == 1
    node.replicas.scheduler.run_for(40_000)
    assert node.shown("sharepartitionmetrics_acquisitionlocktimeout") == {"g,t,0": 1}
    node.fetching.connection_closed("c")
    assert node.shown("sharesessioncache_sharesessionevictions") == {"": 1}
    assert node.shown("sharegroupmetrics_topicpartitionsacquiretimems") == {}


def test_nothing_of_it_is_loaded_by_an_import() -> None:
    code = (
        "import sys, broker.node.share_fetching, broker.node.metrics.share_fetch_metrics;"
        "print([m for m in sys.modules if '.share.' in m or 'share_fetch.' in m])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"
