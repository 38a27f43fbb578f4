"""One set of settings, for Spark's connector and for librdkafka."""

from __future__ import annotations

from pathlib import Path

import confluent_kafka
import pytest

from pipeline.command import parser_for
from pipeline.errors import PipelineError
from pipeline.spark.connection import Connection, connection_of, properties

JAAS = (
    "org.apache.kafka.common.security.scram.ScramLoginModule required "
    'username="ann" password="a \\"b\\";c";'
)


def of(*arguments: str) -> Connection:
    return connection_of(parser_for("generate").parse_args(["generate", *arguments]))


def test_without_options_it_is_this_machine() -> None:
    plain = of()
    assert plain.reading() == plain.writing() == {"kafka.bootstrap.servers": "localhost:9092"}
    assert plain.client() == {"bootstrap.servers": "localhost:9092"}


def test_spark_gets_what_was_given_and_the_sink_the_clients_alone() -> None:
    given = of(
        *("--bootstrap-server", "kafka:9093", "--option", "kafka.security.protocol=SSL"),
        *("--option", "minPartitions=12", "--option", "librdkafka.debug=security"),
    )
    security = {"kafka.bootstrap.servers": "kafka:9093", "kafka.security.protocol": "SSL"}
    assert given.reading() == {**security, "minPartitions": "12"}
    assert given.writing() == security
    assert given.client() == {
        "bootstrap.servers": "kafka:9093",
        "security.protocol": "SSL",
        "debug": "security",
    }


def test_a_properties_file_as_kafkas_tools_take_it(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "\ufeffsasl.mechanism:SCRAM-SHA-512\n"
        "# of the operator\n"
        "bootstrap.servers=elsewhere:1\n"
        "security.protocol = SASL_SSL\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule \\\n"
        '    required username="ann" \\\n'
        '    password="secret";\n'
        "ssl.truststore.type PEM\n"
        "ssl.truststore.location=/etc/ca.pem\n"
        "ssl.endpoint.identification.algorithm=\n"
    )
    given = of("--command-config", str(file), "--option", "kafka.client.id=me")
    assert given.reading()["kafka.bootstrap.servers"] == "localhost:9092"
    assert given.reading()["kafka.sasl.mechanism"] == "SCRAM-SHA-512"
    assert given.reading()["kafka.sasl.jaas.config"].endswith('username="ann" password="secret";')
    assert given.client() == {
        "bootstrap.servers": "localhost:9092",
        "client.id": "me",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "ann",
        "sasl.password": "secret",
        "ssl.ca.location": "/etc/ca.pem",
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_lines_of_a_properties_file() -> None:
    text = "a=1\n! no\n\n b : two words \nc\\=d=e=f\ng\nh\ti\nlong=a\\\n   b\r\n"
    assert properties(text) == {
        "a": "1",
        "b": "two words",
        "c=d": "e=f",
        "g": "",
        "h": "i",
        "long": "ab",
    }


def test_a_certificate_in_a_properties_file_keeps_its_lines() -> None:
    text = "pem=-----BEGIN C-----\\n\\\n  MII=\\n\\\n  -----END C-----\\n\nname=\\u00e4\\t\\:\n"
    assert properties(text) == {"pem": "-----BEGIN C-----\nMII=\n-----END C-----\n", "name": "ä\t:"}


def test_quotes_in_a_password() -> None:
    given = Connection(
        "k:1",
        {
            "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.jaas.config": JAAS,
        },
    )
    assert given.client()["sasl.password"] == 'a "b";c'


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"ssl.truststore.certificates": "-----B"}, {"ssl.ca.pem": "-----B"}),
        (
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/k", "ssl.key.password": "p"},
            {
                "ssl.keystore.location": "/k",
                "ssl.keystore.password": "",
                "ssl.key.password": "p",
            },
        ),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/k"},
            {"ssl.certificate.location": "/k", "ssl.key.location": "/k"},
        ),
        (
            {"ssl.keystore.certificate.chain": "c", "ssl.keystore.key": "k"},
            {"ssl.certificate.pem": "c", "ssl.key.pem": "k"},
        ),
    ],
)
def test_certificates(options: dict[str, str], found: dict[str, str]) -> None:
    given = {f"kafka.{key}": text for key, text in options.items()}
    client = Connection("k:1", {"kafka.security.protocol": "SSL", **given}).client()
    assert client == {"bootstrap.servers": "k:1", "security.protocol": "SSL", **found}


def test_what_librdkafka_cannot_read_may_be_given_for_it_alone() -> None:
    java = {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.ssl.truststore.location": "/t.jks",
        "kafka.ssl.keystore.location": "/k.jks",
        "kafka.sasl.mechanism": "OAUTHBEARER",
    }
    own = {
        "librdkafka.ssl.ca.location": "/ca.pem",
        "librdkafka.ssl.certificate.location": "/c.pem",
        "librdkafka.sasl.oauthbearer.method": "oidc",
    }
    assert Connection("k:1", {**java, **own}).client() == {
        "bootstrap.servers": "k:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/c.pem",
        "sasl.oauthbearer.method": "oidc",
    }
    for missing, words in (
        ("librdkafka.ssl.ca.location", "no truststore but PEM: give one with kafka.ssl.trust"),
        ("librdkafka.ssl.certificate.location", "no keystore but PEM and PKCS12"),
        ("librdkafka.sasl.oauthbearer.method", "sasl.mechanism OAUTHBEARER: for generate"),
    ):
        less = {key: text for key, text in own.items() if key != missing}
        with pytest.raises(PipelineError, match=words):
            Connection("k:1", {**java, **less}).client()


def test_a_password_that_is_missing_is_named() -> None:
    given = Connection(
        "k:1", {"kafka.security.protocol": "SASL_SSL", "kafka.sasl.mechanism": "PLAIN"}
    )
    with pytest.raises(PipelineError, match="PLAIN wants kafka.sasl.jaas.config with username"):
        given.client()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--option", "kafka.bootstrap.servers=x"], "use --bootstrap-server"),
        (["--option", "subscribe=x"], "use --topic"),
        (["--option", "startingOffsets=latest"], "the job decides this, so that nothing is lost"),
        (["--command-config", "/no/such.file"], "/no/such.file: No such file"),
    ],
)
def test_what_is_refused_is_one_line(arguments: list[str], words: str) -> None:
    with pytest.raises(PipelineError, match=words):
        of(*arguments)


def test_librdkafka_knows_the_names() -> None:
    """What the translation makes is settings that the client takes."""
    settings = Connection(
        "127.0.0.1:9",
        {
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "SCRAM-SHA-512",
            "kafka.sasl.jaas.config": JAAS,
            "kafka.ssl.endpoint.identification.algorithm": "",
            "kafka.client.id": "me",
            "kafka.client.rack": "a",
        },
    ).client()
    confluent_kafka.Producer({**settings, "log_level": 0})
