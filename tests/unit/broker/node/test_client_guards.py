from __future__ import annotations

import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from broker.config.parse import parse_config
from broker.config.values import BrokerConfig
from broker.node.client_guards import controller_guard, inter_broker_guard
from storage.config_def import ConfigError
from tests.certificates import pem_files, server


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


def test_brokers_and_controllers_have_their_own(tmp_path: Path) -> None:
    made = config(tmp_path)
    to_brokers, to_controllers = inter_broker_guard(made), controller_guard(made)
    assert (str(to_brokers), str(to_controllers)) == ("SSL", "PLAINTEXT")
    assert isinstance(to_brokers.tls_context, ssl.SSLContext)
    assert to_brokers.tls_context.check_hostname
    assert to_controllers.tls_context is None
    assert not to_controllers.is_secured


def test_a_store_that_cannot_be_read_ends_the_start_with_its_key(tmp_path: Path) -> None:
    key = "listener.name.in.ssl.truststore.location"
    with pytest.raises(ConfigError, match=key):
        inter_broker_guard(config(tmp_path, **{key: "/no/such/store.pem"}))


def test_without_security_nothing_of_it_is_loaded() -> None:
    script = """
import sys
import broker.network.network_client, broker.network.blocking_client, broker.node.client_guards
from broker.config.parse import single_node_config
from broker.node.client_guards import controller_guard, inter_broker_guard
config = single_node_config({}, [])
inter_broker_guard(config), controller_guard(config)
wrong = [one for one in sys.modules if one.startswith("broker.security.")]
print(sorted(wrong), "cryptography" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "['broker.security.client_guard', 'broker.security.connect_failures'] False\n"
    )
