"""The table of cipher suites against what OpenSSL here knows."""

from __future__ import annotations

import ssl

import pytest

from broker.security.tls.cipher_names import TLS_1_2_SUITES, TLS_1_3_SUITES


@pytest.mark.parametrize("name", TLS_1_2_SUITES)
def test_a_suite_is_openssls_of_the_same_meaning(name: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(f"{TLS_1_2_SUITES[name]}:@SECLEVEL=0")
    (found,) = [one for one in context.get_ciphers() if one["protocol"] != "TLSv1.3"]
    exchange, cipher = name.removeprefix("TLS_").split("_WITH_")
    kind, _, proof = exchange.partition("_")
    assert found["name"] == TLS_1_2_SUITES[name]
    assert found["kea"] == {"ECDHE": "kx-ecdhe", "DHE": "kx-dhe", "RSA": "kx-rsa"}[kind]
    signed = {"ECDSA": "auth-ecdsa", "RSA": "auth-rsa", "": "auth-rsa"}
    assert found["auth"] == signed[proof]
    assert found["strength_bits"] == (256 if "256_" in cipher or "CHACHA" in cipher else 128)
    assert found["aead"] is ("GCM" in cipher or "CHACHA" in cipher)


def test_the_suites_of_tls_1_3_are_those_that_openssl_offers() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    offered = {one["name"] for one in context.get_ciphers() if one["protocol"] == "TLSv1.3"}
    assert offered <= set(TLS_1_3_SUITES)
