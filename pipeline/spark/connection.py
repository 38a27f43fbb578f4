"""The connection of a job to its cluster: addresses and security, for Spark and for librdkafka.

A user gives settings once, as Spark's Kafka source takes them (`--option kafka.sasl.mechanism=…`)
or in the file that Kafka's own tools take (`--command-config client.properties`). Spark's connector
gets them without change. confluent-kafka has other names for some of them; the driver uses it for
look-ups, and `generate` and `replay` send with it. Owns that translation. Connects to nothing.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.errors import PipelineError
from pipeline.options import pair, servers

DEFAULT_SERVERS = "localhost:9092"
KAFKA, LIBRDKAFKA = "kafka.", "librdkafka."
ISOLATION = f"{KAFKA}isolation.level"

# The jobs decide these, because other values would break their guarantees. Spark ignores case.
_OF_THE_JOBS = {
    "kafka.bootstrap.servers": "use --bootstrap-server",
    "subscribe": "use --topic",
    "subscribepattern": "use --topic",
    "assign": "use --topic",
    "topic": "use --topic",
    "maxoffsetspertrigger": "use --batch-max",
    "checkpointlocation": "use --checkpoint",
}
_NOT_TO_BE_CHOSEN = ("startingoffsets", "endingoffsets", "failondataloss", "includeheaders")

# Settings with the same name and meaning in Java's client and in librdkafka.
_SAME = (
    "client.id",
    "client.rack",
    "sasl.kerberos.service.name",
    "sasl.mechanism",
    "security.protocol",
    "ssl.cipher.suites",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
)
_PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_KEY = re.compile(r"(?:[^=:\s\\]|\\.?)*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_JAAS_OPTION = re.compile(
    r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))"""
)


@dataclass(frozen=True, slots=True)
class Connection:
    """The addresses of a cluster, and the options of clients that connect to it."""

    servers: str = DEFAULT_SERVERS
    options: Mapping[str, str] = field(default_factory=dict)
    """The options by key: of Spark's source, with the prefix `kafka.` for those of the Kafka
    client; with the prefix `librdkafka.`, for confluent-kafka alone."""

    def reading(self) -> dict[str, str]:
        """Return the options of Spark's Kafka source."""
        own = {key: text for key, text in self.options.items() if not key.startswith(LIBRDKAFKA)}
        return {"kafka.bootstrap.servers": self.servers, **own}

    def writing(self) -> dict[str, str]:
        """Return the options of Spark's Kafka sink: those of the Kafka client alone."""
        return {key: text for key, text in self.reading().items() if key.startswith(KAFKA)}

    def client(self) -> dict[str, str]:
        """Return the settings of confluent-kafka. Raises PipelineError for settings that librdkafka
        does not have."""
        given = {
            key.removeprefix(KAFKA): text
            for key, text in self.options.items()
            if key.startswith(KAFKA)
        }
        own = {
            key.removeprefix(LIBRDKAFKA): text
            for key, text in self.options.items()
            if key.startswith(LIBRDKAFKA)
        }
        settings = {key: given[key] for key in _SAME if key in given}
        if settings.get("ssl.endpoint.identification.algorithm") == "":
            settings["ssl.endpoint.identification.algorithm"] = "none"
        if "SSL" in given.get("security.protocol", ""):
            settings |= _trusted(given, own) | _own_certificate(given, own)
        if given.get("security.protocol", "").startswith("SASL"):
            settings |= _login(given, own)
        return {"bootstrap.servers": self.servers, **settings, **own}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of every job that connects to a cluster."""
    group = parser.add_argument_group("the cluster")
    group.add_argument(
        "-b",
        "--bootstrap-server",
        type=servers,
        default=DEFAULT_SERVERS,
        metavar="HOST:PORT,…",
        help="Connect to the cluster through these nodes. [default: %(default)s]",
    )
    group.add_argument(
        "--option",
        action="append",
        default=[],
        type=pair,
        metavar="KEY=VALUE",
        help="Set this option of Spark's Kafka connector, such as "
        "kafka.security.protocol=SASL_SSL; may be repeated.",
    )
    group.add_argument(
        "--command-config",
        metavar="FILE",
        help="Use the client properties in FILE for TLS and logins, as Kafka's tools do.",
    )


def connection_of(options: argparse.Namespace) -> Connection:
    """Return the connection that the options describe. Raises PipelineError for an unreadable file,
    and for an option of Spark's connector that the job decides."""
    given: dict[str, str] = {}
    if options.command_config:
        try:
            text = Path(options.command_config).read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is no text"
            raise PipelineError(f"--command-config {options.command_config}: {why}") from error
        given = {
            key if key.startswith((KAFKA, LIBRDKAFKA)) else f"{KAFKA}{key}": value
            for key, value in properties(text).items()
            if key != "bootstrap.servers"
        }
    for option in options.option:
        key, _, value = option.partition("=")
        _refuse_of_the_jobs(key)
        given[key] = value
    return Connection(options.bootstrap_server, given)


def properties(text: str) -> dict[str, str]:
    """Return the pairs of a Java properties file, with its comments, separators (`=`, `:` or a
    blank) and continued lines."""
    pairs = {}
    for line in re.sub(r"\\\r?\n[ \t]*", "", text).splitlines():
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        key = _KEY.match(line)
        assert key is not None, "it fits every line"
        value = line[key.end() :].lstrip()
        if value[:1] in ("=", ":"):
            value = value[1:].lstrip()
        pairs[_unescaped(key[0])] = _unescaped(value)
    return pairs


def _unescaped(text: str) -> str:
    r"""Return a text as Java reads it: in a certificate, `\n` becomes the end of a line."""
    return _ESCAPE.sub(lambda match: _character(match[1]), text)


def _character(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) == 5 else _ESCAPES.get(escape, escape)


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _refuse_of_the_jobs(key: str) -> None:
    advice = _OF_THE_JOBS.get(key.lower())
    if advice is not None:
        raise PipelineError(f"--option {key}: {advice}")
    if key.lower() in _NOT_TO_BE_CHOSEN:
        raise PipelineError(f"--option {key}: the job decides this, so that nothing is lost")


def _trusted(given: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return librdkafka's CA settings for Java's truststore, none without a truststore. Raises
    PipelineError for a truststore that is not PEM."""
    if "ssl.truststore.certificates" in given:
        return {"ssl.ca.pem": given["ssl.truststore.certificates"]}
    store = given.get("ssl.truststore.location")
    if store is None or {"ssl.ca.location", "ssl.ca.pem"} & own.keys():
        return {}
    if given.get("ssl.truststore.type", "JKS").upper() == "PEM":
        return {"ssl.ca.location": store}
    raise PipelineError(
        f"{store}: generate, replay and the jobs' look-ups read no truststore but PEM: give one "
        "with kafka.ssl.truststore.type=PEM, or theirs with --option librdkafka.ssl.ca.location=…"
    )


def _own_certificate(given: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return librdkafka's settings for the client's certificate in Java's keystore, none without a
    keystore. Raises PipelineError for a keystore that is neither PEM nor PKCS12."""
    if "ssl.keystore.certificate.chain" in given:
        chain, key = given["ssl.keystore.certificate.chain"], given.get("ssl.keystore.key", "")
        return {"ssl.certificate.pem": chain, "ssl.key.pem": key}
    store = given.get("ssl.keystore.location")
    if store is None or {"ssl.certificate.location", "ssl.keystore.location"} & own.keys():
        return {}
    kind = given.get("ssl.keystore.type", "JKS").upper()
    if kind == "PEM":
        return {"ssl.certificate.location": store, "ssl.key.location": store}
    if kind == "PKCS12":
        password = given.get("ssl.keystore.password", "")
        return {"ssl.keystore.location": store, "ssl.keystore.password": password}
    raise PipelineError(
        f"{store}: generate, replay and the jobs' look-ups read no keystore but PEM and PKCS12: "
        "give one with kafka.ssl.keystore.type, or theirs with "
        "--option librdkafka.ssl.certificate.location=… and librdkafka.ssl.key.location=…"
    )


def _login(given: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return user and password from Java's line of JAAS. Raises PipelineError if they are missing
    there, and for a mechanism without a password."""
    if any(key.startswith("sasl.") for key in own):
        return {}
    mechanism = given.get("sasl.mechanism", "GSSAPI")
    if mechanism not in _PASSWORD_MECHANISMS:
        raise PipelineError(
            f"sasl.mechanism {mechanism}: for generate, replay and the jobs' look-ups name "
            "librdkafka's own settings too, each as --option librdkafka.sasl.…=…"
        )
    jaas = {
        name: _plain(double or single) or bare
        for name, double, single, bare in _JAAS_OPTION.findall(given.get("sasl.jaas.config", ""))
    }
    if not {"username", "password"} <= jaas.keys():
        raise PipelineError(
            f'sasl.mechanism {mechanism} wants kafka.sasl.jaas.config with username="…" and '
            'password="…"'
        )
    return {"sasl.username": jaas["username"], "sasl.password": jaas["password"]}
