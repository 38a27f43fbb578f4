"""The jobs against an Apache Kafka that wants a password, or TLS.

For Ottla see `tests/compat/security/test_spark_source.py`. One file of settings, as Kafka's own
tools take it, reaches Spark's source and sink and librdkafka.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compat.pipeline_jobs import jobs
from tests.tools.apache_kafka import HOST, ApacheKafka
from tests.tools.java_tools import FAST_START, java_home_bin
from tests.tools.ports import free_port

if TYPE_CHECKING:
    from tests.compat.spark_session import Kafka

pytestmark = [
    pytest.mark.java,
    pytest.mark.spark,
    pytest.mark.timeout(400),
    # PySpark leaves the closing of its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SECRET = "se;cret"


@dataclass(frozen=True, slots=True)
class Guarded:
    """A broker whose two listeners let in ann alone: with her password, or with her certificate."""

    password: str
    """`host:port`"""
    tls: str
    stores: Path

    def settings(self, how: str) -> tuple[str, str]:
        """Where, and the file of settings that opens it."""
        if how == "password":
            return self.password, (
                "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
                f'sasl.jaas.config={PLAIN} \\\n  username="ann" password="{SECRET}";\n'
            )
        return self.tls, (
            "security.protocol=SSL\n"
            f"ssl.truststore.type=PEM\nssl.truststore.location={self.stores / 'broker.pem'}\n"
            f"ssl.keystore.type=PKCS12\nssl.keystore.location={self.stores / 'ann.p12'}\n"
            f"ssl.keystore.password={SECRET}\n"
        )


def make_stores(folder: Path) -> None:
    """Keys and self-signed certificates of broker and ann; each believes the other's."""

    def keytool(*arguments: str, store: str) -> None:
        subprocess.run(
            [
                *(java_home_bin("keytool") or "keytool", *arguments, "-storetype", "PKCS12"),
                *("-keystore", f"{store}.p12", "-storepass", SECRET),
            ],
            cwd=folder,
            check=True,
            capture_output=True,
        )

    for name in ("broker", "ann"):
        keytool(
            *("-genkeypair", "-alias", name, "-keyalg", "EC", "-dname", f"CN={name}"),
            *("-ext", f"san=ip:{HOST}", "-validity", "2"),
            store=name,
        )
        keytool("-exportcert", "-rfc", "-alias", name, "-file", f"{name}.pem", store=name)
    keytool("-importcert", "-noprompt", "-alias", "ann", "-file", "ann.pem", store="believed")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    stores = tmp_path_factory.mktemp("stores")
    make_stores(stores)
    port, controller, password, tls = (free_port() for _ in range(4))
    listeners = (
        f"PLAINTEXT://{HOST}:{port},SASL://{HOST}:{password},SSL://{HOST}:{tls},"
        f"CONTROLLER://{HOST}:{controller}"
    )
    properties = {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT"
        ),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": f'{PLAIN} user_ann="{SECRET}";',
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(stores / "broker.p12"),
        "ssl.keystore.password": SECRET,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(stores / "believed.p12"),
        "ssl.truststore.password": SECRET,
        "ssl.client.auth": "required",
    }
    with ApacheKafka(
        port=port,
        controller_port=controller,
        properties=properties,
        jvm_options=FAST_START,
        heap="320m",
    ):
        yield Guarded(f"{HOST}:{password}", f"{HOST}:{tls}", stores)


@pytest.mark.parametrize("how", ["password", pytest.param("tls", marks=pytest.mark.secured)])
def test_source_sink_and_sender_are_let_in(
    kafka: Kafka, guarded: Guarded, how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = jobs(kafka.spark, *guarded.settings(how), tmp_path)
    topic, results, dead = f"cdr-{how}", f"sums-{how}", f"dead-{how}"
    sums, events = str(tmp_path / "sums"), str(tmp_path / "events")
    written = ("--results-topic", results, "--dead-letters", dead)
    checkpoint = ("--checkpoint", str(tmp_path / "checkpoint"))
    assert job("generate", "--topic", topic, "--events", "300") == 0
    assert job("stream", "--topic", topic, "--once", "--table", sums, *checkpoint, *written) == 0
    assert job("load", "--topic", topic, "--table", events) == 0
    # An executor sends these.
    assert job("replay", "--files", events, "--topic", f"again-{how}") == 0
    everything = ("--topic", topic, "--table", events, "--aggregates", sums, *written)
    seed = ("--against-seed", "--events", "300", "--report", str(tmp_path / "report.html"))
    assert job("audit", *everything, *seed) == 0
    assert "nothing lost, nothing duplicated: 9 checks hold" in capsys.readouterr().out


def test_who_is_not_let_in_is_told_so_and_not_that_the_broker_is_away(guarded: Guarded) -> None:
    from pipeline.errors import PipelineError
    from pipeline.spark.connection import Connection
    from pipeline.topics import Cluster

    wrong = {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f'{PLAIN} username="ann" password="guess";',
    }
    with pytest.raises(
        PipelineError, match=r"lets nobody in with these settings \(.*uthentication"
    ):
        Cluster(Connection(guarded.password, wrong)).cluster_id()
    believes_another = {
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(guarded.stores / "ann.pem"),
    }
    with pytest.raises(PipelineError, match=r"lets nobody in .*certificate"):
        Cluster(Connection(guarded.tls, believes_another)).cluster_id()
