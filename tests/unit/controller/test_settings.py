"""`controller.settings`: defaults are Kafka's, from the facts."""

from __future__ import annotations

import json
from pathlib import Path

from controller.settings import ControllerSettings
from controller.voter_set import VoterSet

FACTS = Path(__file__).parents[3] / "broker" / "definitions" / "broker-configs.json"


def test_defaults() -> None:
    defaults = {entry["name"]: entry["default"] for entry in json.loads(FACTS.read_text())}
    settings = ControllerSettings(
        node_id=1,
        cluster_id="c",
        directory_id=b"",
        metadata_log_dir="/d",
        static_voters=VoterSet.of_ids(1),
    )
    keys = {
        "default_replication_factor": "default.replication.factor",
        "num_partitions": "num.partitions",
        "broker_session_timeout_ms": "broker.session.timeout.ms",
        "quorum_election_timeout_ms": "controller.quorum.election.timeout.ms",
        "quorum_fetch_timeout_ms": "controller.quorum.fetch.timeout.ms",
        "quorum_election_backoff_max_ms": "controller.quorum.election.backoff.max.ms",
        "metadata_log_segment_bytes": "metadata.log.segment.bytes",
        "metadata_log_segment_ms": "metadata.log.segment.ms",
        "metadata_log_max_record_bytes_between_snapshots": (
            "metadata.log.max.record.bytes.between.snapshots"
        ),
        "metadata_log_max_snapshot_interval_ms": "metadata.log.max.snapshot.interval.ms",
        "metadata_max_idle_interval_ms": "metadata.max.idle.interval.ms",
    }
    for attribute, key in keys.items():
        assert str(getattr(settings, attribute)) == str(defaults[key]), key
