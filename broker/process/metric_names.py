"""The further names of metrics, for dashboards that were made for other exporters.

Ottla's own names are always there, for its own alerts and dashboards. Two families of public
dashboards have other names for Kafka's MBeans: those for Strimzi's rules of the JMX exporter, and
those for Confluent's. Owns: the differences in names. Never: a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from broker.metrics import Family, Kind, Sample

STRIMZI, CONFLUENT, BOTH = "strimzi", "confluent", "both"

_STRIMZI = (
    (r"kafka_server_raft_metrics_(\w+)", r"kafka_server_raftmetrics_\1"),
    (
        r"(kafka_network_socketserver_networkprocessoravgidle)percent",
        r"\1_percent",
    ),
    (
        r"(kafka_server_kafkarequesthandlerpool_requesthandleravgidle)percent",
        r"\1_percent",
    ),
)
_CONFLUENT = (
    (r"kafka_server_socket_server_metrics_(\w+)", r"kafka_server_socketservermetrics_\1"),
    (
        r"(kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent)",
        r"\1_oneminuterate",
    ),
    (r"(kafka_server_brokertopicmetrics_\w+)", r"\1persec"),
    (r"(kafka_server_replicamanager_(isrshrinks|isrexpands|failedisrupdates))", r"\1persec"),
    (r"(kafka_controller_controllerstats_uncleanleaderelections)", r"\1persec"),
    (r"(kafka_network_requestmetrics_(requests|errors))", r"\1persec"),
)
_CLIENTS = "kafka_server_socketservermetrics_connections"
_LABELS = {
    "clientSoftwareName": "client_software_name",
    "clientSoftwareVersion": "client_software_version",
}
_RULES = {STRIMZI: _STRIMZI, CONFLUENT: _CONFLUENT, BOTH: _STRIMZI + _CONFLUENT}


def with_further_names(family: Family, names: str) -> Iterator[Family]:
    """Yield the metric, and copies under its further names. `names` is `ottla.metrics.names`."""
    yield family
    for pattern, other in _RULES[names]:
        match = re.fullmatch(pattern, family.name)
        if match is not None:
            name = match.expand(other)
            # Confluent's rules give a count the type it has in JMX, without `_total`.
            kind = Kind.GAUGE if name.endswith("persec") else family.kind
            yield Family(name, kind, family.help, _labelled(name, family.samples))


def _labelled(name: str, samples: tuple[Sample, ...]) -> tuple[Sample, ...]:
    """Return the samples with the labels that dashboards expect under `name`. Only the metric of
    clients' software has other labels there."""
    if name != _CLIENTS:
        return samples
    return tuple(
        ({_LABELS.get(label, label): text for label, text in labels.items()}, value)
        for labels, value in samples
    )
