"""How a client comes in, told once and said in the words of each client.

Owns no client and no broker: who is in there, and behind which listener, `secured_broker` knows.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SSL, SASL_SSL, SASL_PLAINTEXT, PLAINTEXT = "SSL", "SASL_SSL", "SASL_PLAINTEXT", "PLAINTEXT"
PLAIN, SHA_256, SHA_512 = "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"
OAUTHBEARER = "OAUTHBEARER"

_MODULES = "org.apache.kafka.common.security"
_RETRIEVER = f"{_MODULES}.oauthbearer.FileJwtRetriever"


@dataclass(frozen=True, slots=True)
class Way:
    """One client's way to one listener: files in PEM, and a name with its password or token."""

    servers: str
    protocol: str
    mechanism: str = ""
    user: str = ""
    password: str = ""
    token_file: Path | None = None
    authority: Path | None = None
    """Whom it believes."""
    certificate: Path | None = None
    """Its own, behind its key."""

    def __str__(self) -> str:
        return "-".join(filter(None, (self.protocol, self.mechanism)))

    @property
    def token(self) -> str:
        """What the client shows for OAUTHBEARER."""
        assert self.token_file is not None
        return self.token_file.read_text()


# --- librdkafka ----------------------------------------------------------------------------------


def librdkafka(way: Way) -> dict[str, Any]:
    """For confluent-kafka."""
    settings: dict[str, Any] = {
        "bootstrap.servers": way.servers,
        "security.protocol": way.protocol,
        "ssl.ca.location": _path(way.authority),
        "ssl.certificate.location": _path(way.certificate),
        "ssl.key.location": _path(way.certificate),
    }
    if way.mechanism:
        settings["sasl.mechanism"] = way.mechanism
    if way.mechanism == OAUTHBEARER:
        # The time is when it is to be asked for again, in seconds.
        settings["oauth_cb"] = lambda _config: (way.token, 4_000_000_000.0)
    elif way.mechanism:
        settings |= {"sasl.username": way.user, "sasl.password": way.password}
    return _given(settings)


# --- kafka-python --------------------------------------------------------------------------------


def kafka_python(way: Way) -> dict[str, Any]:
    """For kafka-python."""
    settings: dict[str, Any] = {
        "bootstrap_servers": way.servers,
        "security_protocol": way.protocol,
        "ssl_cafile": _path(way.authority),
        "ssl_certfile": _path(way.certificate),
        "ssl_keyfile": _path(way.certificate),
        "sasl_mechanism": way.mechanism,
        "sasl_plain_username": way.user,
        "sasl_plain_password": way.password,
    }
    if way.mechanism == OAUTHBEARER:
        settings["sasl_oauth_token_provider"] = _kafka_python_tokens(way)
    return _given(settings)


def _kafka_python_tokens(way: Way) -> Any:
    from kafka.net.sasl.oauth import AbstractTokenProvider

    class Tokens(AbstractTokenProvider):  # type: ignore[misc]
        def token(self) -> str:
            return way.token

    return Tokens()


# --- aiokafka ------------------------------------------------------------------------------------


def aiokafka(way: Way) -> dict[str, Any]:
    """For aiokafka."""
    settings: dict[str, Any] = {
        "bootstrap_servers": way.servers,
        "security_protocol": way.protocol,
        "sasl_mechanism": way.mechanism,
        "sasl_plain_username": way.user,
        "sasl_plain_password": way.password,
    }
    if way.protocol in (SSL, SASL_SSL):
        context = ssl.create_default_context(cafile=_path(way.authority))
        if way.certificate is not None:
            context.load_cert_chain(way.certificate)
        settings["ssl_context"] = context
    if way.mechanism == OAUTHBEARER:
        settings["sasl_oauth_token_provider"] = _aiokafka_tokens(way)
    return _given(settings)


def _aiokafka_tokens(way: Way) -> Any:
    from aiokafka.abc import AbstractTokenProvider

    class Tokens(AbstractTokenProvider):  # type: ignore[misc]
        async def token(self) -> str:
            return way.token

    return Tokens()


# --- Java ----------------------------------------------------------------------------------------


def java(way: Way) -> dict[str, str]:
    """For Java's clients, Kafka's tools and, behind `kafka.`, Spark."""
    settings: dict[str, Any] = {
        "bootstrap.servers": way.servers,
        "security.protocol": way.protocol,
        "ssl.truststore.location": _path(way.authority),
        "ssl.truststore.type": way.authority and "PEM",
        "ssl.keystore.location": _path(way.certificate),
        "ssl.keystore.type": way.certificate and "PEM",
        "sasl.mechanism": way.mechanism,
    }
    if way.mechanism:
        settings["sasl.jaas.config"] = _jaas(way)
    if way.mechanism == OAUTHBEARER:
        settings |= {
            "sasl.oauthbearer.jwt.retriever.class": _RETRIEVER,
            "sasl.oauthbearer.token.endpoint.url": _url(way),
            "sasl.login.callback.handler.class": (
                f"{_MODULES}.oauthbearer.OAuthBearerLoginCallbackHandler"
            ),
        }
    return _given(settings)


def java_properties(way: Way, folder: Path) -> Path:
    """The same as a file, for `--command-config`."""
    file = folder / f"{way}.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in java(way).items()))
    return file


def java_permission(way: Way) -> tuple[str, ...]:
    """What the JVM is told so that a client may read its token from a file."""
    return (f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={_url(way)}",)


def _jaas(way: Way) -> str:
    name = f' username="{way.user}" password="{way.password}"'
    module = {
        PLAIN: f"plain.PlainLoginModule required{name}",
        OAUTHBEARER: "oauthbearer.OAuthBearerLoginModule required",
    }.get(way.mechanism, f"scram.ScramLoginModule required{name}")
    return f"{_MODULES}.{module};"


def _url(way: Way) -> str:
    assert way.token_file is not None
    return way.token_file.as_uri()


# --- franz-go ------------------------------------------------------------------------------------


def franz_go(way: Way) -> dict[str, Any]:
    """For the program of `tests/go/franz`, as its `way.go` reads it."""
    return _given(
        {
            "mechanism": way.mechanism,
            "user": way.user,
            "password": way.password,
            "token": way.token if way.token_file is not None else None,
            "authority": _path(way.authority),
            "certificate": _path(way.certificate),
        }
    )


# --- all -----------------------------------------------------------------------------------------


def _path(file: Path | None) -> str | None:
    return None if file is None else str(file)


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if value not in (None, "")}
