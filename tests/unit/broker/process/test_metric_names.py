"""A metric is found under the names of other exporters' dashboards."""

from __future__ import annotations

import pytest

from broker.metrics import Family, Kind
from broker.process.metric_names import BOTH, CONFLUENT, STRIMZI, with_further_names

SAMPLES = (({"topic": "t"}, 3.0),)


@pytest.mark.parametrize(
    ("name", "kind", "names", "others"),
    [
        ("kafka_x", Kind.GAUGE, BOTH, []),
        (
            "kafka_server_brokertopicmetrics_messagesin",
            Kind.COUNTER,
            CONFLUENT,
            [("kafka_server_brokertopicmetrics_messagesinpersec", Kind.GAUGE)],
        ),
        ("kafka_server_brokertopicmetrics_messagesin", Kind.COUNTER, STRIMZI, []),
        (
            "kafka_server_raft_metrics_current_epoch",
            Kind.GAUGE,
            STRIMZI,
            [("kafka_server_raftmetrics_current_epoch", Kind.GAUGE)],
        ),
        ("kafka_server_raft_metrics_current_epoch", Kind.GAUGE, CONFLUENT, []),
        (
            "kafka_server_socket_server_metrics_connection_close",
            Kind.COUNTER,
            BOTH,
            [("kafka_server_socketservermetrics_connection_close", Kind.COUNTER)],
        ),
        (
            "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent",
            Kind.GAUGE,
            BOTH,
            [
                ("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", Kind.GAUGE),
                (
                    "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent_oneminuterate",
                    Kind.GAUGE,
                ),
            ],
        ),
    ],
)
def test_its_own_name_and_those_of_others(
    name: str, kind: Kind, names: str, others: list[tuple[str, Kind]]
) -> None:
    own = Family(name, kind, "help", SAMPLES)
    assert list(with_further_names(own, names)) == [
        own,
        *(Family(other, its_kind, "help", SAMPLES) for other, its_kind in others),
    ]


def test_clients_software_has_the_labels_of_the_other_name() -> None:
    labels = {"clientSoftwareName": "a", "clientSoftwareVersion": "1", "listener": "L"}
    own = Family("kafka_server_socket_server_metrics_connections", Kind.GAUGE, "", ((labels, 2.0),))
    _, other = with_further_names(own, CONFLUENT)
    expected = {"client_software_name": "a", "client_software_version": "1", "listener": "L"}
    assert (other.name, other.samples) == (
        "kafka_server_socketservermetrics_connections",
        ((expected, 2.0),),
    )
