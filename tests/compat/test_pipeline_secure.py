"""The jobs against a broker that wants a password: Apache Kafka, for Ottla has no SASL yet.

One file of settings, as Kafka's own tools take it, reaches Spark's source and sink and librdkafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.apache_kafka import HOST, ApacheKafka, free_port
from tests.java_tools import FAST_START

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


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """`host:port` of a listener that lets in ann alone."""
    port, controller, guarded = free_port(), free_port(), free_port()
    listeners = (
        f"PLAINTEXT://{HOST}:{port},SASL://{HOST}:{guarded},CONTROLLER://{HOST}:{controller}"
    )
    properties = {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": f'{PLAIN} user_ann="se;cret";',
    }
    with ApacheKafka(
        port=port,
        controller_port=controller,
        properties=properties,
        jvm_options=FAST_START,
        heap="320m",
    ):
        yield f"{HOST}:{guarded}"


@pytest.fixture
def job(kafka: Kafka, guarded: str, tmp_path: Path) -> Callable[..., int]:
    """`job("load", "--topic", "t")` with ann's settings."""
    from pipeline.command import parser_for

    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={PLAIN} \\\n  username="ann" password="se;cret";\n'
    )
    kafka.spark.conf.set("spark.sql.session.timeZone", "UTC")

    def run(name: str, *arguments: str) -> int:
        reach = ("--bootstrap-server", guarded, "--command-config", str(file))
        options = parser_for(name).parse_args([name, *reach, *arguments])
        module = import_module(f"pipeline.{name}")
        if name == "generate":
            return int(module.run(options))
        module.check(options)
        return int(module.run(kafka.spark, options))

    return run


def test_source_sink_and_sender_are_let_in(
    job: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sums, events = str(tmp_path / "sums"), str(tmp_path / "events")
    assert job("generate", "--events", "300") == 0
    assert job("stream", "--once", "--table", sums, "--checkpoint", str(tmp_path / "cp")) == 0
    assert job("load", "--table", events) == 0
    written = (*("--aggregates", sums, "--results-topic", "cdr-aggregates"), "--against-seed")
    report = ("--events", "300", "--report", str(tmp_path / "report.html"))
    assert job("audit", "--topic", "cdr", "--table", events, *written, *report) == 0
    assert "nothing lost, nothing duplicated" in capsys.readouterr().out


def test_a_wrong_password_is_told_from_a_broker_that_is_away(guarded: str) -> None:
    from pipeline.connection import Connection
    from pipeline.errors import PipelineError
    from pipeline.topics import Cluster

    wrong = {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f'{PLAIN} username="ann" password="guess";',
    }
    with pytest.raises(
        PipelineError, match=r"lets nobody in with these settings \(.*uthentication"
    ):
        Cluster(Connection(guarded, wrong), timeout_s=5).cluster_id()
