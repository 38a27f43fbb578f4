from __future__ import annotations

import base64
import json
import random
import re
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from broker.config.parse import parse_config, with_overrides
from broker.config.values import BrokerConfig
from broker.node.security.client_guards import ClientGuards, asking_guard
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage, ResourceType
from ground.config_def import ConfigError
from ground.sim_scheduler import SimScheduler
from protocol.frames.message_codec import encode_response
from protocol.messages.metadata_records import ConfigRecord
from protocol.messages.sasl_handshake import SaslHandshakeResponse
from tests.certificates import pem_files, server
from tests.unit.storage.harness import Jobs


def config(folder: Path, **keys: str) -> BrokerConfig:
    """Of a node with TLS between brokers and none to controllers."""
    tls = pem_files(folder, server())
    return parse_config(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": "1@localhost:9093",
            "listeners": "IN://localhost:9092,CTL://localhost:9093",
            "listener.security.protocol.map": "IN:SSL,CTL:PLAINTEXT",
            "inter.broker.listener.name": "IN",
            "controller.listener.names": "CTL",
            "log.dirs": str(folder / "data"),
            "listener.name.in.ssl.keystore.type": "PEM",
            "listener.name.in.ssl.keystore.location": str(tls.keystore_location),
            "listener.name.in.ssl.truststore.type": "PEM",
            "listener.name.in.ssl.truststore.location": str(tls.truststore_location),
            **keys,
        }
    )


def guards(made: BrokerConfig, blocking: Any = None) -> ClientGuards:
    scheduler = SimScheduler()
    return ClientGuards(made, random.randbytes, scheduler, blocking)


def test_brokers_and_controllers_have_their_own(tmp_path: Path) -> None:
    made = guards(config(tmp_path))
    to_brokers, to_controllers = made.to_brokers, made.to_controllers
    assert (str(to_brokers), str(to_controllers)) == ("SSL", "PLAINTEXT")
    assert isinstance(to_brokers.tls_context, ssl.SSLContext)
    assert to_brokers.tls_context.check_hostname
    assert to_controllers.tls_context is None
    assert not to_controllers.is_secured


def test_a_store_that_cannot_be_read_ends_the_start_with_its_key(tmp_path: Path) -> None:
    key = "listener.name.in.ssl.truststore.location"
    with pytest.raises(ConfigError, match=key):
        guards(config(tmp_path, **{key: "/no/such/store.pem"}))


def test_without_security_nothing_of_it_is_loaded() -> None:
    script = """
import sys
import broker.network.outgoing.network_client, broker.network.outgoing.blocking_client
from broker.config.parse import single_node_config
from broker.node.security.client_guards import ClientGuards
ClientGuards(single_node_config({}, []), None, None, None).start(list)
wrong = [one for one in sys.modules if one.startswith("broker.security.")]
print(sorted(wrong), "cryptography" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "['broker.security.client_guard', 'broker.security.connect_failures'] False\n"
    )


def test_one_is_enough_where_both_are_reached_in_the_same_way(tmp_path: Path) -> None:
    keys = {"listener.security.protocol.map": "IN:PLAINTEXT,CTL:PLAINTEXT"}
    made = guards(config(tmp_path, **keys))
    assert made.to_brokers is made.to_controllers


JAAS = "listener.name.in.oauthbearer.sasl.jaas.config"
BY_TOKEN = {
    "listener.security.protocol.map": "IN:SASL_PLAINTEXT,CTL:PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
    "listener.name.in.sasl.enabled.mechanisms": "OAUTHBEARER",
    "ottla.sasl.oauthbearer.unsecured.tokens.allowed": "true",
    JAAS: "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    'unsecuredLoginStringClaim_sub="node";',
}


def test_a_node_may_log_in_by_token(tmp_path: Path) -> None:
    made = guards(config(tmp_path, **BY_TOKEN))
    begun: list[bool] = []
    made.start(lambda: begun.append(True))
    assert begun == [True]
    login = made.to_brokers.login("node-1")
    assert b"OAUTHBEARER" in login.begin()
    made.close()


def test_who_asks_and_waits_may_log_in_by_token(tmp_path: Path) -> None:
    security = config(tmp_path, **BY_TOKEN).inter_broker_security
    guard = asking_guard(security, "", random.randbytes, lambda: 1_000)
    assert guard.logs_in
    handshake = guard.login("ottla")
    handshake.begin()
    answer = encode_response(SaslHandshakeResponse(0, ["OAUTHBEARER"]), 1, 1).joined()
    token = handshake.received(bytes(answer)[4:])
    assert token is not None
    assert b"auth=Bearer " in token


KEYSTORE = "listener.name.in.ssl.keystore.location"


def replayed(made: ClientGuards, before: MetadataImage, name: str, text: str) -> MetadataImage:
    delta = MetadataDelta(before)
    delta.replay(ConfigRecord(ResourceType.BROKER, "1", name, text))
    image = delta.apply(1, 1, 1)
    made.metadata_changed(delta, image)
    return image


def test_a_dynamic_config_gives_new_connections_other_stores(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = config(tmp_path, **{"listener.security.protocol.map": "IN:SSL,CTL:SSL"})
    made = guards(before)
    to_brokers, to_controllers = made.to_brokers.tls_context, made.to_controllers.tls_context
    assert to_brokers is not to_controllers
    wrong = with_overrides(before, {KEYSTORE: "/nowhere"})
    fault = made.validate(wrong, ["IN"])
    assert fault is not None and KEYSTORE in (fault.message or "")
    assert made.validate(wrong, ["CTL"]) is None
    assert made.validate(before, ["IN", "CTL"]) is None
    assert made.to_brokers.tls_context is to_brokers
    image = replayed(made, MetadataImage(), KEYSTORE, "/nowhere")
    assert made.to_brokers.tls_context is to_brokers
    assert "connects to listener IN of others as before" in caplog.text
    replayed(made, image, KEYSTORE, str(tmp_path / "keystore.pem"))
    assert made.to_brokers.tls_context is not to_brokers
    assert made.to_controllers.tls_context is to_controllers


def test_what_is_of_others_changes_nothing(tmp_path: Path) -> None:
    made = guards(config(tmp_path))
    context = made.to_brokers.tls_context
    replayed(made, MetadataImage(), "listener.name.out.ssl.keystore.location", "/nowhere")
    replayed(made, MetadataImage(), "log.retention.ms", "5")
    assert made.to_brokers.tls_context is context


def test_a_dynamic_config_changes_as_whom_a_node_logs_in(tmp_path: Path) -> None:
    made = guards(config(tmp_path, **BY_TOKEN))
    made.start(list)

    def token() -> bytes:
        login = made.to_brokers.login("node-1")
        login.begin()
        answer = encode_response(SaslHandshakeResponse(0, ["OAUTHBEARER"]), 1, 1).joined()
        found = re.search(rb"Bearer [^.]*[.]([^.]*)[.]", login.received(answer[4:]) or b"")
        assert found is not None
        return base64.b64decode(found[1] + b"==")

    assert b'"sub":"node"' in token()
    image = replayed(made, MetadataImage(), JAAS, BY_TOKEN[JAAS].replace('"node"', '"other"'))
    assert b'"sub":"other"' in token()
    unreadable = BY_TOKEN[JAAS].replace("unsecuredLoginStringClaim_sub", "extension_auth")
    fault = made.validate(with_overrides(config(tmp_path, **BY_TOKEN), {JAAS: unreadable}), ["IN"])
    assert fault is not None and "unsecuredLoginStringClaim_sub" in (fault.message or "")
    replayed(made, image, JAAS, unreadable)
    assert b'"sub":"other"' in token()


def test_the_old_token_is_used_until_there_is_a_new_one(tmp_path: Path) -> None:
    keys = {
        **BY_TOKEN,
        "listener.name.in.oauthbearer.sasl.login.callback.handler.class": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
        ),
        "sasl.oauthbearer.token.endpoint.url": (tmp_path / "token").as_uri(),
    }
    jobs, done = Jobs(), list[bool]()
    jobs.held = True

    def signed(name: str) -> str:
        claims = json.dumps({"sub": name, "exp": 4_000_000_000}).encode()
        parts = (b'{"alg":"ES256"}', claims, b"signature")
        return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)

    def logs_in_by(token: str) -> bool:
        login = made.to_brokers.login("node-1")
        login.begin()
        answer = encode_response(SaslHandshakeResponse(0, ["OAUTHBEARER"]), 1, 1).joined()
        return token.encode() in (login.received(bytes(answer)[4:]) or b"")

    made = guards(config(tmp_path, **keys), jobs)
    made.start(lambda: done.append(True))
    (tmp_path / "token").write_text(signed("old"))
    assert done == []
    jobs.run()
    assert done == [True] and logs_in_by(signed("old"))
    (tmp_path / "token").write_text(signed("new"))
    image = replayed(made, MetadataImage(), JAAS, BY_TOKEN[JAAS].replace('"node"', '"x"'))
    assert logs_in_by(signed("old"))
    replayed(made, image, JAAS, BY_TOKEN[JAAS].replace('"node"', '"y"'))
    jobs.run_one(0)  # of the change that another one followed
    assert logs_in_by(signed("old"))
    jobs.run()
    assert logs_in_by(signed("new"))
    made.close()
