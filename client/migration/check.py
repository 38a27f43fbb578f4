"""The check of a migration: what stands against replacing a cluster's nodes by nodes of Ottla.

A pure function over what was read. Each part of the cluster has a module of its own, which judges
by the functions and tables of the server. So a key, a feature, a group type or an ACL that no
release knows is found, too. Owns the verdict. Never reads anything (`client.migration.reading`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from broker.config.values import BrokerConfig
from client.migration.access import acl_findings, quota_findings, scram_findings
from client.migration.activity import group_findings, max_timeout_ms, transaction_findings
from client.migration.cluster_state import feature_findings, node_version_findings, state_findings
from client.migration.contents import BROKER, ClusterContents
from client.migration.findings import Finding, Severity, merged
from client.migration.node_configs import all_brokers_findings, node_findings
from client.migration.resource_configs import (
    client_metrics_findings,
    group_config_findings,
    other_resource_findings,
    topic_findings,
)
from client.refusals import LOGIN_ADVICE
from client.tables import counted
from controller.metadata.version import KRAFT_VERSION, METADATA_VERSION, level_name
from ground.printable import printable

_READ_ADVICE = "remove the reason, and run the check again"


def findings_of(contents: ClusterContents) -> list[Finding]:
    """Return what Ottla would refuse or ignore in this cluster, and what must happen first. The
    findings are ordered by severity; equal findings in several places are one finding."""
    return merged(_findings(contents))


def _findings(contents: ClusterContents) -> Iterator[Finding]:
    """Yield the findings part by part."""
    for place, reason in contents.unread:
        without_advice = reason.removesuffix(f": {LOGIN_ADVICE}")
        advice = _READ_ADVICE if without_advice == reason else LOGIN_ADVICE
        yield Finding(Severity.UNREAD, (place,), without_advice, advice)
    yield from node_version_findings(contents.nodes)
    yield from feature_findings(contents.features or {})
    if contents.status is not None:
        yield from state_findings(contents.status)
    config: BrokerConfig | None = None
    for node in contents.nodes:
        own, parsed = node_findings(node)
        yield from own
        if config is None and node.kind == BROKER:
            config = parsed
    yield from all_brokers_findings(contents.all_brokers, config)
    yield from topic_findings(contents.topics, config)
    yield from group_config_findings(contents.group_configs, config)
    yield from client_metrics_findings(contents.client_metrics)
    yield from other_resource_findings(contents.other_resources)
    yield from acl_findings(contents.acls)
    yield from quota_findings(contents.quotas)
    yield from scram_findings(contents.scram_mechanisms)
    yield from group_findings(contents.groups)
    yield from transaction_findings(
        contents.transactions, contents.now_ms, max_timeout_ms(contents.nodes)
    )


def is_ready(findings: Sequence[Finding]) -> bool:
    """Return whether nothing stands against a migration: all findings are IGNORED ones."""
    return all(finding.severity is Severity.IGNORED for finding in findings)


def report(contents: ClusterContents, findings: Sequence[Finding]) -> list[str]:
    """Return the lines of the check: the cluster, a line for each finding, and the counts."""
    counts = ", ".join(f"{count} {name}" for name, count in _counts(findings).items())
    verdict = "ready" if is_ready(findings) else "not ready"
    lines = (printable(str(finding)) for finding in findings)
    return [*_heading(contents), *lines, f"{verdict}: {counts}"]


def as_objects(contents: ClusterContents, findings: Sequence[Finding]) -> list[dict[str, object]]:
    """Return the objects of the check for --json: each finding, and at the end the verdict."""
    status, features = contents.status, contents.features
    return [
        *(finding._asdict() for finding in findings),
        {
            "ready": is_ready(findings),
            "cluster_id": None if status is None else status.cluster_id,
            "features": features,
            "quorum": _quorum_kind(contents),
            "nodes": [{"id": node.node_id, "kind": node.kind} for node in contents.nodes],
            "counts": _counts(findings),
        },
    ]


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    """Return the number of findings of each severity."""
    return {
        str(severity): sum(finding.severity is severity for finding in findings)
        for severity in Severity
    }


def _quorum_kind(contents: ClusterContents) -> str | None:
    """Return `dynamic` if the voters are in the metadata log (KIP-853), otherwise `static`; None if
    that could not be read."""
    if contents.features is None:
        return None
    return "dynamic" if contents.features.get(KRAFT_VERSION, 0) else "static"


def _heading(contents: ClusterContents) -> Iterator[str]:
    """Yield the lines that say which cluster was read."""
    status, features = contents.status, contents.features or {}
    level = features.get(METADATA_VERSION)
    metadata_version = "not read" if level is None else f"{level} ({level_name(level)})"
    yield (
        f"cluster {'(its id was not read)' if status is None else status.cluster_id}: "
        f"metadata.version {metadata_version}, kraft.version "
        f"{features.get(KRAFT_VERSION, 0)} ({_quorum_kind(contents) or 'unknown'} quorum)"
    )
    yield (
        f"read: {counted(len(contents.nodes), 'node')}, {counted(len(contents.topics), 'topic')}, "
        f"{counted(len(contents.groups), 'group')}, {counted(len(contents.acls), 'ACL')}, "
        f"{counted(len(contents.quotas), 'owner')} of quotas, "
        f"{counted(len(contents.scram_mechanisms), 'SCRAM user')}, "
        f"{counted(len(contents.transactions), 'transaction')}"
    )
