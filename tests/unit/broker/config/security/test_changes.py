"""Certificates and JAAS texts of a listener that change while a node runs."""

from __future__ import annotations

import logging
from collections.abc import Collection

import pytest

from broker.config.dynamic import dynamic_config_fault
from broker.config.in_force import secured_config
from broker.config.parse import parse_config, with_overrides
from broker.config.security.changes import (
    replayed_listeners,
    security_changes,
    security_in_force,
)
from broker.config.security_settings import ClientSecurity, ListenerSecurity, Secret
from broker.config.values import BrokerConfig
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage, ResourceType
from protocol.errors import ApiError, ErrorCode
from protocol.messages.metadata_records import ConfigRecord

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
JAAS = f'{PLAIN} required username="b" password="hush" user_b="hush";'
CONFIG = parse_config(
    {
        "node.id": "1",
        "process.roles": "broker,controller",
        "controller.listener.names": "CTL",
        "controller.quorum.voters": "1@localhost:9093",
        "listeners": "IN://:9091,OUT://:9092,CTL://:9093",
        "advertised.listeners": "IN://localhost:9091,OUT://localhost:9092",
        "listener.security.protocol.map": "IN:SASL_PLAINTEXT,OUT:SSL,CTL:PLAINTEXT",
        "inter.broker.listener.name": "IN",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.in.plain.sasl.jaas.config": JAAS,
        "ssl.keystore.location": "/old",
    }
)
KEYSTORE = "listener.name.out.ssl.keystore.location"
PASSWORD = "listener.name.out.ssl.keystore.password"
USERS = "listener.name.in.plain.sasl.jaas.config"


class Validator:
    def __init__(self, fault: str | None = None) -> None:
        self.fault = fault
        self.asked: list[ListenerSecurity] = []

    def __call__(self, new: BrokerConfig, listeners: Collection[str]) -> ApiError | None:
        self.asked += [new.listener_security[name] for name in listeners]
        return None if self.fault is None else ApiError(ErrorCode.INVALID_REQUEST, self.fault)


def fault(
    after: dict[str, str],
    before: dict[str, str] | None = None,
    *,
    one_broker: bool = True,
    set_now: tuple[str, ...] = (),
    validate: Validator | None = None,
) -> str | None:
    error = dynamic_config_fault(
        CONFIG,
        before or {},
        after,
        one_broker=one_broker,
        set_now=set_now,
        validate=validate or Validator(),
    )
    assert error is None or error.code is ErrorCode.INVALID_REQUEST
    return None if error is None else error.message


def test_what_may_change_is_put_to_who_reads_the_stores() -> None:
    asked = Validator()
    assert fault({KEYSTORE: "/new", PASSWORD: "p"}, validate=asked) is None
    (new,) = asked.asked
    assert new.listener_name == "OUT" and new.tls is not None
    assert new.tls.keystore_location == "/new"
    assert new.tls.keystore_password == Secret("p")
    assert "cannot read" in (fault({KEYSTORE: "/no"}, validate=Validator("cannot read")) or "")


def test_a_key_that_goes_is_a_change_too() -> None:
    asked = Validator()
    assert fault({}, {KEYSTORE: "/new"}, validate=asked) is None
    assert [one.tls and one.tls.keystore_location for one in asked.asked] == ["/old"]


def test_the_same_path_again_is_read_again() -> None:
    asked = Validator()
    same = {KEYSTORE: "/new"}
    assert fault(same, same, validate=asked) is None
    assert asked.asked == []
    assert fault(same, same, set_now=(KEYSTORE,), validate=asked) is None
    assert len(asked.asked) == 1


def test_other_keys_beside_those_of_listeners_are_none_of_ours() -> None:
    others = {"log.retention.ms": "5", "of.some.plugin": "x"}
    assert fault({**others, KEYSTORE: "/new"}) is None
    assert fault({**others, KEYSTORE: "/new"}, {KEYSTORE: "/new"}) is None


def test_users_of_a_mechanism_may_change() -> None:
    asked = Validator()
    text = f'{PLAIN} required username="b" password="q" user_b="q" user_c="r";'
    assert fault({USERS: text}, validate=asked) is None
    (new,) = asked.asked
    assert new.sasl is not None and new.sasl.mechanisms[0].jaas is not None
    assert new.sasl.mechanisms[0].jaas.options["user_c"] == Secret("r")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        # the words of an Apache Kafka
        (
            "ssl.keystore.location",
            "/x",
            "These security configs can be dynamically updated only per-listener using the "
            "listener prefix: [ssl.keystore.location]",
        ),
        (
            "listener.name.out.ssl.client.auth",
            "maybe",
            "Invalid value maybe for configuration ssl.client.auth: String must be one of: ",
        ),
        # our own: Kafka stores these, and nothing comes of it
        ("listener.name.gone.ssl.client.auth", "none", "this node has no such listener"),
        ("listener.name.out.ssl.nonsense", "x", "unknown configuration key"),
        ("listener.name.in.ssl.client.auth", "none", "is SASL_PLAINTEXT, without TLS"),
        ("listener.name.in.oauthbearer.sasl.jaas.config", "x", "does not offer this mechanism"),
        ("listener.name.in.sasl.jaas.config", JAAS, "does not offer this mechanism"),
        (USERS, "garbage", f"{USERS}: a login module or its flag is missing"),
        (USERS, "${file:/p:k}", "config providers are asked at a start only"),
        ("listener.name.in.sasl.enabled.mechanisms", "PLAIN,FOO", "Cannot update these configs"),
        (
            "listener.name.in.connections.max.reauth.ms",
            "5",
            "Cannot update these configs dynamically",
        ),
        ("sasl.jaas.config", JAAS, "Cannot update these configs dynamically: [sasl.jaas.config]"),
    ],
)
def test_what_is_refused(name: str, text: str, words: str) -> None:
    asked = Validator()
    message = fault({name: text}, validate=asked) or ""
    assert words in message
    assert "hush" not in message
    assert asked.asked == []


def test_a_node_that_is_only_a_broker_has_the_client_half_of_controllers() -> None:
    broker = parse_config(
        {
            "node.id": "2",
            "process.roles": "broker",
            "controller.listener.names": "CTL",
            "controller.quorum.voters": "1@localhost:9093",
            "listeners": "IN://localhost:9091",
            "listener.security.protocol.map": "IN:PLAINTEXT,CTL:SSL",
            "inter.broker.listener.name": "IN",
        }
    )
    asked: list[tuple[ClientSecurity, list[str]]] = []

    def validate(new: BrokerConfig, listeners: Collection[str]) -> None:
        asked.append((new.controller_security, list(listeners)))

    def changed(key: str) -> str:
        error = dynamic_config_fault(
            broker, {}, {f"listener.name.ctl.{key}": "/new"}, one_broker=True, validate=validate
        )
        return "" if error is None else error.message or ""

    assert changed("ssl.keystore.location") == ""
    ((security, listeners),) = asked
    assert listeners == ["CTL"]
    assert security.tls is not None and security.tls.keystore_location == "/new"
    assert "does not offer this mechanism" in changed("plain.sasl.jaas.config")
    delta = MetadataDelta(MetadataImage())
    name = "listener.name.ctl.ssl.keystore.location"
    delta.replay(ConfigRecord(ResourceType.BROKER, "2", name, "/new"))
    assert replayed_listeners(broker, delta) == ["CTL"]
    assert list(security_changes(broker, delta, image_of(delta))) == []


def test_who_could_log_in_to_nobody_is_told() -> None:
    text = f'{PLAIN} required user_b="q";'
    cluster = with_overrides(CONFIG, {"controller.quorum.voters": "1@localhost:1,2@localhost:2"})
    error = dynamic_config_fault(cluster, {}, {USERS: text}, one_broker=True, validate=Validator())
    assert error is not None and "has no username" in (error.message or "")


def test_not_for_all_brokers_at_once() -> None:
    words = "Cannot update these configs at default cluster level, broker id must be specified: "
    assert fault({KEYSTORE: "/x"}, one_broker=False) == f"{words}[{KEYSTORE}]"
    assert fault({USERS: JAAS}, one_broker=False) == f"{words}[{USERS}]"


def replayed(
    image: MetadataImage, configs: dict[str, str | None], node: str = "1"
) -> MetadataDelta:
    delta = MetadataDelta(image)
    for name, text in configs.items():
        delta.replay(ConfigRecord(ResourceType.BROKER, node, name, text))
    return delta


def image_of(delta: MetadataDelta) -> MetadataImage:
    return delta.apply(1, 1, 1)


def test_after_replay_each_changed_listener_is_told_once() -> None:
    delta = replayed(MetadataImage(), {KEYSTORE: "/new", PASSWORD: "p", "log.retention.ms": "5"})
    image = image_of(delta)
    (new,) = security_changes(CONFIG, delta, image)
    assert new.listener_name == "OUT" and new.tls is not None
    assert new.tls.keystore_location == "/new"
    assert new == security_in_force(CONFIG, image, "OUT")
    again = replayed(image, {KEYSTORE: "/new"})
    assert list(security_changes(CONFIG, again, image_of(again))) == [new]
    gone = replayed(image, {KEYSTORE: None, PASSWORD: None})
    (old,) = security_changes(CONFIG, gone, image_of(gone))
    assert old == CONFIG.listener_security["OUT"]


def test_what_concerns_others_is_told_to_nobody() -> None:
    for configs, node in (({KEYSTORE: "/new"}, "2"), ({"log.retention.ms": "5"}, "1")):
        delta = replayed(MetadataImage(), dict(configs), node)
        assert list(security_changes(CONFIG, delta, image_of(delta))) == []


def test_both_halves_are_in_force() -> None:
    text = f'{PLAIN} required username="b" password="q" user_b="q";'
    image = image_of(replayed(MetadataImage(), {USERS: text, KEYSTORE: "/new"}))
    now = secured_config(CONFIG, image)
    mechanism = now.inter_broker_security.mechanism
    assert mechanism is not None and mechanism.jaas is not None
    assert mechanism.jaas.options["password"] == Secret("q")
    assert now.listener_security["OUT"] == security_in_force(CONFIG, image, "OUT")
    assert secured_config(CONFIG, MetadataImage()) is CONFIG


def test_what_cannot_be_read_does_not_stop_a_node(caplog: pytest.LogCaptureFixture) -> None:
    """Kafka stores a JAAS text that it cannot read."""
    image = image_of(replayed(MetadataImage(), {USERS: "hush", KEYSTORE: "/new"}))
    with caplog.at_level(logging.WARNING):
        assert security_in_force(CONFIG, image, "IN") == CONFIG.listener_security["IN"]
        assert secured_config(CONFIG, image) is CONFIG
    assert len(caplog.messages) == 2
    assert "hush" not in caplog.text
    tls = security_in_force(CONFIG, image, "OUT").tls
    assert tls is not None and tls.keystore_location == "/new"
