from __future__ import annotations

from broker.config.parse import single_node_config
from broker.node.settings import controller_settings, new_descriptors
from controller.storage_format import LogDirectories


def test_the_controller_is_told_what_the_file_says() -> None:
    config = single_node_config(
        {
            "log.dirs": "a,b",
            "metadata.log.dir": "b",
            "num.partitions": "7",
            "broker.session.timeout.ms": "1234",
            "delete.topic.enable": "false",
            "log.segment.bytes": "2097152",
        }
    )
    storage = LogDirectories("cluster", 1, {"a": b"a" * 16, "b": b"b" * 16})
    settings = controller_settings(
        config, storage, new_descriptors(config, 1_000), lambda *_: None, lambda *_: "why"
    )
    assert settings.why_no_connection("h", 1) == "why"
    assert settings.metadata_max_idle_interval_ms == 0, "nobody can follow it"
    assert settings.hosting.replicas_max() == 1_000 - 112 - 250
    assert settings.hosting.descriptors_max == 1_000
    assert settings.hosting.descriptors_for(1_000) == 1_482
    assert (settings.node_id, settings.cluster_id) == (1, "cluster")
    assert settings.static_voters.ids == (1,)
    assert settings.own_voter is not None and settings.own_voter.key == settings.replica_key
    assert (settings.metadata_log_dir, settings.directory_id) == ("b", b"b" * 16)
    assert settings.num_partitions == 7
    assert settings.broker_session_timeout_ms == 1234
    assert settings.delete_topic_enable is False
    assert settings.server_config["log.segment.bytes"] == "2097152"
    refused = settings.check_group_config({"streams.num.standby.replicas": "3"})
    assert refused is not None
