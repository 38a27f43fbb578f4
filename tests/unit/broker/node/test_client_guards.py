from __future__ import annotations

import random
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from broker.config.parse import parse_config
from broker.config.values import BrokerConfig
from broker.node.client_guards import ClientGuards, asking_guard
from protocol.frames.message_codec import encode_response
from protocol.messages.sasl_handshake import SaslHandshakeResponse
from storage.config_def import ConfigError
from tests.certificates import pem_files, server
from tests.simulation.sim_scheduler import SimScheduler


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
import broker.network.network_client, broker.network.blocking_client
from broker.config.parse import single_node_config
from broker.node.client_guards import ClientGuards
ClientGuards(single_node_config({}, []), None, None, None).start()
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
    made.start()
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
