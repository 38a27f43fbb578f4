"""The check of a cluster's nodes, features, quorum and partitions: is it fit for a migration now?

The software of a node is not visible to clients. A node is judged by the versions of APIs that came
with Kafka's releases. Pure. Follows KIP-35 (ApiVersions), KIP-584 (features), KIP-853 (quorums).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from client.cluster_status import ClusterStatus, PartitionState
from client.migration.contents import NodeContents
from client.migration.findings import Finding, refused, unknown, wait
from client.tables import counted
from controller.decisions.feature_control import KEPT_FEATURES, is_kept
from controller.metadata.version import METADATA_VERSION, level_name
from controller.settings import DEFAULT_FEATURES
from protocol.api_keys import STABLE_VERSIONS, ApiKey

OLDEST_RELEASE = "4.3"
"""The oldest release of Kafka whose nodes can be replaced."""
SINCE_OLDEST = {ApiKey.DESCRIBE_LOG_DIRS: 5, ApiKey.BROKER_HEARTBEAT: 2}
"""Versions of APIs that came with OLDEST_RELEASE: brokers name the first, controllers the other."""
_UPGRADE_FIRST = f"upgrade this node to Apache Kafka {OLDEST_RELEASE} or later first"
_NEWER = "take a release of Ottla that knows it: this one was made for Apache Kafka 4.4"
_HEALTH = "wait until ottla status calls the cluster healthy"


def node_version_findings(nodes: Iterable[NodeContents]) -> Iterator[Finding]:
    """Yield the findings about nodes older than OLDEST_RELEASE, and about APIs that are newer than
    this release of Ottla."""
    for node in nodes:
        seen = {key: node.apis[key][1] for key in SINCE_OLDEST if key in node.apis}
        if not seen or any(high < SINCE_OLDEST[key] for key, high in seen.items()):
            what = f"its APIs are of a release before Apache Kafka {OLDEST_RELEASE}"
            yield refused(node.place, what, _UPGRADE_FIRST)
        for key, (_, high) in sorted(node.apis.items()):
            yield from _newer_api_findings(node.place, key, high)


def _newer_api_findings(place: str, key: int, high: int) -> Iterator[Finding]:
    """Yield a finding if an API, or its version `high`, is newer than this release."""
    names = {int(api_key): api_key.name.title().replace("_", "") for api_key in ApiKey}
    if key not in names:
        yield unknown(place, f"serves an API with the unknown key {key}", _NEWER)
        return
    stable = STABLE_VERSIONS.get(ApiKey(key))
    if stable is not None and high > stable[1]:
        what = f"serves {names[key]} up to version {high}; this release knows up to {stable[1]}"
        yield unknown(place, what, _NEWER)


def feature_findings(features: Mapping[str, int]) -> Iterator[Finding]:
    """Yield the findings about finalized levels that Ottla does not serve."""
    for name, level in sorted(features.items()):
        place, shown = f"feature {name}", _level_text(name, level)
        low, high = DEFAULT_FEATURES.get(name, (0, 0))
        if low <= level <= high:
            continue
        if name in KEPT_FEATURES and is_kept(name, level):
            what = (
                f"the finalized level is {shown}; Ottla does not serve its "
                f"{KEPT_FEATURES[name][1]}, so Kafka's controllers do not register its nodes"
            )
            yield refused(place, what, f"kafka-features downgrade --feature {name}=0")
        elif name in DEFAULT_FEATURES or name in KEPT_FEATURES:
            top = high or KEPT_FEATURES.get(name, (0, ""))[0]
            levels = f"{_level_text(name, low)} to {_level_text(name, top)}"
            what = f"the finalized level is {shown}; this release of Ottla knows {levels}"
            side = "raise" if level < low else "lower"
            yield refused(place, what, f"{side} the level with kafka-features, if Kafka allows it")
        else:
            what = f"the finalized level is {shown}; Ottla does not know this feature"
            yield unknown(place, what, "set its level to 0 with kafka-features downgrade")


def _level_text(name: str, level: int) -> str:
    """Return a level, of metadata.version with its name."""
    text = level_name(level) if name == METADATA_VERSION else str(level)
    return text if text == str(level) else f"{level} ({text})"


def state_findings(status: ClusterStatus) -> Iterator[Finding]:
    """Yield the findings about nodes and partitions that must recover before a node is replaced."""
    for node_id in (*status.fenced, *status.unreachable):
        yield wait(f"broker {node_id}", "does not answer, or is fenced", _HEALTH)
    if status.quorum is None:
        yield wait("quorum", "no active controller answers", _HEALTH)
    for node_id in status.lagging_voters:
        yield wait(f"controller {node_id}", "lags behind the leader of the quorum", _HEALTH)
    offline = {(state.topic, state.partition) for state in status.offline}
    lacking = [
        state for state in status.under_replicated if (state.topic, state.partition) not in offline
    ]
    yield from _partition_findings(status.offline, "without a leader")
    yield from _partition_findings(lacking, "under-replicated")


def _partition_findings(states: Sequence[PartitionState], words: str) -> Iterator[Finding]:
    """Yield a finding for each topic with partitions in a bad state."""
    counts: dict[str, int] = {}
    for state in states:
        counts[state.topic] = counts.get(state.topic, 0) + 1
    for topic, count in counts.items():
        yield wait(f"topic {topic}", f"{counted(count, 'partition')} {words}", _HEALTH)
