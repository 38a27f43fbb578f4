"""Whether nodes with the same settings can connect to each other, as Kafka judges it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.security.tls.self_trust import check_trusts_itself
from ground.config_def import ConfigError
from tests import certificates
from tests.certificates import Identity, pem_values, server

PREFIX = "listener.name.nodes."


@pytest.mark.parametrize("mode", ["none", "requested", "required"])
@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_node_that_trusts_itself(version: str, mode: str) -> None:
    settings = replace(pem_values(server()), client_auth=mode, enabled_protocols=(version,))
    check_trusts_itself(PREFIX, settings)


def test_host_names_do_not_matter() -> None:
    check_trusts_itself(PREFIX, pem_values(certificates.authority().signs("CN=elsewhere")))


def test_a_node_for_servers_only_will_do_where_no_certificate_is_asked_for() -> None:
    check_trusts_itself(PREFIX, pem_values(certificates.server_only()))


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize(
    ("identity", "mode"),
    [
        *((certificates.wrong(kind), "none") for kind in certificates.WRONG),
        (certificates.client_only(), "none"),
        (certificates.server_only(), "requested"),
        (certificates.server_only(), "required"),
    ],
)
def test_a_node_that_others_like_it_refuse(identity: Identity, mode: str, version: str) -> None:
    settings = replace(pem_values(identity), client_auth=mode, enabled_protocols=(version,))
    with pytest.raises(ConfigError) as refused:
        check_trusts_itself(PREFIX, settings)
    assert refused.value.name == f"{PREFIX}ssl.keystore.certificate.chain"
    assert "cannot connect to each other (" in str(refused.value)


def test_a_suite_that_does_not_go_with_the_key() -> None:
    settings = replace(
        pem_values(server()), cipher_suites=("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",)
    )
    with pytest.raises(ConfigError) as refused:
        check_trusts_itself(PREFIX, settings)
    assert "no shared cipher" in str(refused.value)
