"""Counters and gauges under Kafka's names."""

from __future__ import annotations

from broker.metrics import Family, Kind, Metrics, RecentCounts, RecentShare


def by_name(metrics: Metrics) -> dict[str, Family]:
    return {family.name: family for family in metrics.families()}


def test_topic_counters_and_their_sum() -> None:
    metrics = Metrics()
    metrics.topic("a").messages_in += 2
    metrics.topic("b").messages_in += 3
    family = by_name(metrics)["kafka_server_brokertopicmetrics_messagesin"]
    assert family.kind is Kind.COUNTER
    assert family.samples == (({}, 5.0), ({"topic": "a"}, 2.0), ({"topic": "b"}, 3.0))


def test_a_deleted_topic_is_forgotten() -> None:
    metrics = Metrics()
    metrics.topic("a").bytes_in += 1
    metrics.forget_topic("a")
    metrics.forget_topic("never seen")
    assert by_name(metrics)["kafka_server_brokertopicmetrics_bytesin"].samples == (({}, 0.0),)


def test_gauges_are_read_when_asked() -> None:
    metrics = Metrics()
    sizes = {"t": 1.0}
    metrics.gauge("kafka_server_replicamanager_partitioncount", "Partitions", lambda: 7)
    metrics.gauges(
        "kafka_log_log_size", "Bytes", lambda: [({"topic": t}, s) for t, s in sizes.items()]
    )
    metrics.counters("kafka_network_requestmetrics_requests", "Requests", lambda: [({}, 4.0)])
    sizes["t"] = 9.0
    found = by_name(metrics)
    assert found["kafka_server_replicamanager_partitioncount"].samples == (({}, 7),)
    assert found["kafka_log_log_size"].samples == (({"topic": "t"}, 9.0),)
    assert found["kafka_log_log_size"].kind is Kind.GAUGE
    assert found["kafka_network_requestmetrics_requests"].kind is Kind.COUNTER


def test_a_histogram_is_what_its_owner_counts() -> None:
    metrics = Metrics()
    samples = ({"le": "0.1"}, 3.0), ({"le": "+Inf"}, 4.0), ({}, 0.5)
    metrics.histogram("kafka_x_seconds", "Seconds", lambda: samples)
    family = by_name(metrics)["kafka_x_seconds"]
    assert family.kind is Kind.HISTOGRAM and family.samples == samples


def test_a_share_is_of_the_last_minute() -> None:
    share = RecentShare(100.0, 7.0)
    assert share.read(100.0, 7.0) == 0
    assert share.read(110.0, 12.0) == 0.5
    # Ten busy seconds after a quiet minute: what was before does not count.
    for second in range(1, 61):
        share.read(110.0 + second, 12.0)
    assert share.read(180.0, 22.0) == 10 / 60
    assert share.read(180.0, 22.0) == 10 / 60, "whoever else asks is told the same"


def test_a_share_that_is_asked_for_often_keeps_little() -> None:
    share = RecentShare(0.0, 0.0)
    for tick in range(10_000):
        share.read(tick / 10, tick / 20)
    assert len(share._read) < 65
    assert 0.49 < share.read(1000.0, 500.0) < 0.51


def test_recent_counts_forget_what_is_older_than_the_window() -> None:
    recent = RecentCounts((1.0, 2.0), window_s=60.0)
    assert recent.read(0.0, [4, 0, 0]) == [4, 0, 0]
    assert recent.read(50.0, [4, 2, 0]) == [4, 2, 0]
    assert recent.read(70.0, [4, 2, 1]) == [0, 2, 1]
    assert recent.read(200.0, [4, 2, 1]) == [0, 0, 0]


def test_quantiles_lie_in_the_bucket_of_their_share() -> None:
    recent = RecentCounts((1.0, 2.0))
    assert recent.quantile([10, 0, 0], 0.5) == 0.5
    assert recent.quantile([5, 5, 0], 0.75) == 1.5
    assert recent.quantile([1, 0, 9], 0.5) == 2.0
    assert recent.quantile([0, 0, 0], 0.5) == 0.0
