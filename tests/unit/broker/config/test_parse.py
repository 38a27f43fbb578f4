"""A node's configuration: keys become attributes, several keys become the value in force."""

from __future__ import annotations

import pytest

from broker.config.endpoints import EndPoint, QuorumVoter
from broker.config.parse import parse_config, single_node_config, with_overrides
from ground.config_def import ConfigError

MAP = "listener.security.protocol.map"
MINIMAL = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.quorum.voters": "1@localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
}


def test_kafkas_defaults_apply() -> None:
    config = parse_config(MINIMAL)
    assert config.num_network_threads == 3
    assert config.queued_max_requests == 500
    assert config.socket_request_max_bytes == 104_857_600
    assert config.auto_create_topics_enable is True
    assert config.log_dirs == ("/tmp/kafka-logs",)
    assert config.log_retention_ms == 7 * 24 * 3_600_000
    assert config.broker_rack is None
    assert config.offsets_topic_replication_factor == 3
    assert config.profile_name is None


def test_what_is_set_wins() -> None:
    config = parse_config({**MINIMAL, "num.io.threads": " 2 ", "log.retention.hours": "1"})
    assert config.num_io_threads == 2
    assert config.log_retention_ms == 3_600_000
    assert config.topic_defaults["retention.ms"] == 3_600_000
    again = with_overrides(config, {"num.io.threads": "5"})
    assert (again.num_io_threads, again.log_retention_ms) == (5, 3_600_000)
    assert config.num_io_threads == 2


def test_listeners_in_force() -> None:
    config = parse_config({**MINIMAL, "advertised.listeners": "plaintext://host:19092"})
    broker = EndPoint("PLAINTEXT", "PLAINTEXT", None, 9092)
    controller = EndPoint("CONTROLLER", "PLAINTEXT", None, 9093)
    assert config.listeners == (broker, controller)
    assert config.broker_listeners == (broker,)
    assert config.controller_listeners == (controller,)
    assert config.advertised_listeners == (EndPoint("PLAINTEXT", "PLAINTEXT", "host", 19092),)
    assert config.inter_broker_listener_name == "PLAINTEXT"
    assert config.controller_quorum_voters == (QuorumVoter(1, "localhost", 9093),)
    assert config.is_broker and config.is_controller


@pytest.mark.parametrize(
    ("listener", "advertised", "told"),
    [
        ("CONTROLLER://c:9093", "PLAINTEXT://host:1", "CONTROLLER://c:9093"),
        ("CONTROLLER://c:9093", "PLAINTEXT://host:1,CONTROLLER://out:2", "CONTROLLER://out:2"),
        ("CONTROLLER://0.0.0.0:9093", "PLAINTEXT://host:1", "CONTROLLER://:9093"),
    ],
)
def test_where_others_are_told_that_the_controller_is(
    listener: str, advertised: str, told: str
) -> None:
    """An empty host is this machine's name, as Kafka has it."""
    listeners = f"PLAINTEXT://:9092,{listener}"
    config = parse_config({**MINIMAL, "listeners": listeners, "advertised.listeners": advertised})
    assert [str(one) for one in config.advertised_controller_listeners] == [told]
    assert [str(one) for one in config.controller_listeners] == [listener]


def test_several_listeners_and_their_map() -> None:
    config = parse_config(
        {
            **MINIMAL,
            "listeners": "IN://127.0.0.1:1,OUT://0.0.0.0:2,CONTROLLER://:3",
            "advertised.listeners": "IN://127.0.0.1:1,OUT://h:2",
            "listener.security.protocol.map": "IN:PLAINTEXT,OUT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "in",
        }
    )
    assert [str(one) for one in config.advertised_listeners] == ["IN://127.0.0.1:1", "OUT://h:2"]
    assert config.inter_broker_listener_name == "IN"


def test_a_listener_that_needs_tls_has_its_settings() -> None:
    secured = {
        "listeners": "SSL://:1,CONTROLLER://:3",
        "listener.security.protocol.map": "SSL:SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "SSL",
    }
    config = parse_config({**MINIMAL, **secured})
    assert config.listener_security["SSL"].tls is not None
    assert config.inter_broker_security.security_protocol == "SSL"
    assert config.is_secured


@pytest.mark.parametrize(
    ("own", "refused"),
    [
        ({"listeners": "SSL://:1,CONTROLLER://:3"}, "No security protocol defined for listener"),
        (
            {"controller.listener.names": "CONTROLLER,SASL_SSL"},
            "No security protocol defined for listener CONTROLLER",
        ),
        (
            {"process.roles": "broker", "listeners": "PLAINTEXT://:1,SASL_PLAINTEXT://:2"},
            "Controller listener with name CONTROLLER defined in controller.listener.names",
        ),
        (
            {"process.roles": "broker", "listeners": "IN://:1", MAP: "IN:PLAINTEXT"},
            "Controller listener with name CONTROLLER defined in controller.listener.names",
        ),
    ],
)
def test_a_controllers_listener_is_plain_text_only_where_nothing_is_secured(
    own: dict[str, str], refused: str
) -> None:
    with pytest.raises(ConfigError, match=refused):
        parse_config({**MINIMAL, "controller.quorum.voters": "9@localhost:9", **own})


def test_folders() -> None:
    one = parse_config({**MINIMAL, "log.dir": "/a"})
    assert (one.log_dirs, one.metadata_log_dir) == (("/a",), "/a")
    two = parse_config({**MINIMAL, "log.dir": "/a", "log.dirs": "/b, /c"})
    assert (two.log_dirs, two.metadata_log_dir) == (("/b", "/c"), "/b")
    apart = parse_config({**MINIMAL, "log.dirs": "/b", "metadata.log.dir": "/m"})
    assert apart.metadata_log_dir == "/m"


def test_connections_per_ip() -> None:
    config = parse_config({**MINIMAL, "max.connections.per.ip.overrides": "127.0.0.1:5, [::1]:2"})
    assert config.max_connections_per_ip_overrides == {"127.0.0.1": 5, "::1": 2}
    for bad in ("127.0.0.1", "127.0.0.1:x"):
        with pytest.raises(ConfigError, match=r"max\.connections\.per\.ip\.overrides.*host:count"):
            parse_config({**MINIMAL, "max.connections.per.ip.overrides": bad})


@pytest.mark.parametrize("name", ["node.id", "process.roles", "controller.listener.names"])
def test_a_required_key_that_is_missing_is_named(name: str) -> None:
    texts = {key: text for key, text in MINIMAL.items() if key != name}
    with pytest.raises(ConfigError) as refused:
        parse_config(texts)
    assert str(refused.value) == (
        f'Missing required configuration "{name}" which has no default value.'
    )


def test_a_wrong_or_unknown_key_is_named() -> None:
    with pytest.raises(ConfigError, match="Invalid value 0 for configuration num.io.threads"):
        parse_config({**MINIMAL, "num.io.threads": "0"})
    with pytest.raises(ConfigError, match="unknown configuration key num.oi.threads; did you mean"):
        parse_config({**MINIMAL, "num.oi.threads": "1"})


def test_unknown_keys_are_ignored_with_a_warning_if_the_file_says_so() -> None:
    texts = {**MINIMAL, "ottla.unknown.keys": "warn", "num.oi.threads": "1", "a.secret": "hush"}
    config = parse_config(texts)
    assert config.warnings == (
        "num.oi.threads is ignored: unknown configuration key num.oi.threads; did you mean "
        "num.io.threads?",
        "a.secret is ignored: unknown configuration key a.secret",
    )
    assert config.originals["a.secret"] == "hush"
    with pytest.raises(ConfigError, match="unknown configuration key num.oi.threads"):
        parse_config({**texts, "ottla.unknown.keys": "fail"})
    with pytest.raises(ConfigError, match="ottla.unknown.keys: String must be one of: fail, warn"):
        parse_config({**texts, "ottla.unknown.keys": "quiet"})


def test_a_wrong_value_and_an_unsupported_key_still_stop_the_start() -> None:
    texts = {**MINIMAL, "ottla.unknown.keys": "warn"}
    for name, value in {"num.io.threads": "0", "remote.log.storage.system.enable": "true"}.items():
        with pytest.raises(ConfigError, match=name):
            parse_config({**texts, name: value})


def test_keys_of_no_effect_warn() -> None:
    config = parse_config({**MINIMAL, "telemetry.max.bytes": "7"})
    assert len(config.warnings) == 1
    assert "telemetry.max.bytes=7" in config.warnings[0]
    assert single_node_config().warnings == ()


def test_the_single_node_profile() -> None:
    config = single_node_config({"node.id": "7", "log.dirs": "/d"})
    assert config.profile_name == "single-node"
    assert config.controller_quorum_voters[0].node_id == config.node_id == 7
    assert config.log_dirs == ("/d",)


def test_the_old_name_of_the_node_id_stands_for_it() -> None:
    old = {key: text for key, text in MINIMAL.items() if key != "node.id"}
    config = parse_config({**old, "broker.id": MINIMAL["node.id"]})
    assert config.node_id == config.broker_id == int(MINIMAL["node.id"])
    assert config.originals["node.id"] == MINIMAL["node.id"]
    single = single_node_config({"broker.id": "7"})
    assert single.controller_quorum_voters[0].node_id == single.node_id == 7
    with pytest.raises(ConfigError, match="You must set `node.id` to the same value"):
        single_node_config({"broker.id": "7", "node.id": "8"})
