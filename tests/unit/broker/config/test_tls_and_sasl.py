"""Secrets are not printed."""

from __future__ import annotations

from broker.config.tls_and_sasl import JaasEntry, Secret, TlsSettings


def test_a_secret_is_not_printed_wherever_it_stands() -> None:
    tls = TlsSettings(keystore_password=Secret("hunter2"))
    jaas = JaasEntry("PlainLoginModule", {"password": Secret("hunter2")})
    for shown in (str(tls), repr(tls), str(jaas), f"{Secret('hunter2')}", f"{Secret('x')!r}"):
        assert "hunter2" not in shown
    assert "[hidden]" in str(tls)


def test_equal_secrets_are_equal() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2
