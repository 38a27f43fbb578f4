"""Public test suites that were run against Ottla, two of them beside an Apache Kafka 4.3.0.

Data of `docs/compatibility.md`: what was run, with which command, and what did not pass. A test
that fails on Apache Kafka too says nothing of the broker; each other one has its reason.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """Tests that do not pass on Ottla, for one reason."""

    test: str
    on_kafka: str
    """The same tests on Apache Kafka 4.3.0: "not run", or what begins with "fails"."""
    why: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite and its outcome."""

    name: str
    version: str
    source: str
    """The public repository or package."""
    command: str
    """Run in the suite's own folder, built as its authors say, beside a broker."""
    passed: int
    skipped: int
    when: str
    """The day, ISO 8601."""
    failures: tuple[Failure, ...] = ()
    note: str = ""


SUITES: tuple[Suite, ...] = (
    Suite(
        name="kafka-python, integration tests",
        version="a3b3836f (after 3.0.12)",
        source="github.com/dpkp/kafka-python",
        command="""\
$ ottla serve --override node.id=0 --override num.partitions=4 \\
    --override advertised.listeners=PLAINTEXT://127.0.0.1:9092 \\
    --override group.min.session.timeout.ms=1000
$ mkdir -p servers/4.3.0/kafka-bin/bin
$ KAFKA_VERSION=4.3.0 KAFKA_URI=kafka://127.0.0.1:9092 python -m pytest test/integration""",
        passed=54,
        skipped=10,
        when="2026-11-25",
        failures=(
            Failure(
                "`test_create_describe_delete_acls`",
                "fails, without an authorizer",
                "no ACLs yet; Kafka answers SECURITY_DISABLED where none is configured",
            ),
            Failure(
                "`TestSSLConnection`",
                "fails, with KAFKA_URI",
                "starts an Apache Kafka of its own, with TLS",
                count=2,
            ),
        ),
        note="The overrides are what the suite's own broker has in its configuration.",
    ),
    Suite(
        name="aiokafka, all tests",
        version="0.14.0",
        source="github.com/aio-libs/aiokafka",
        command="""\
$ mkdir -p tests/ssl_cert
$ export PYTHONPATH=$OTTLA/tests/conformance/aiokafka_docker PATH=$PYTHONPATH:$PATH
$ export BROKER_COMMAND="ottla serve --override node.id=0 --override log.dirs={folder} \\
    --override listeners=PLAINTEXT://127.0.0.1:{port} --override num.partitions={partitions}"
$ python -m pytest tests --docker-image any/kafka:2.8.1 --no-pull""",
        passed=957,
        skipped=104,
        when="2026-11-25",
        failures=(
            Failure(
                "`test_sasl.py` and three tests of TLS",
                "fails, without TLS and SASL",
                "the broker that was asked had no TLS and no SASL; no ACLs yet",
                count=20,
            ),
        ),
        note=(
            "Its broker is a container; `tests/conformance/aiokafka_docker` takes the place of the "
            "`docker` package and starts the command instead. On Apache Kafka "
            "`test_sender__handler_base_do` failed as well, once."
        ),
    ),
    Suite(
        name="franz-go, pkg/kgo",
        version="adb3a18a",
        source="github.com/twmb/franz-go",
        command="""\
$ ottla serve
$ KGO_SEEDS=127.0.0.1:9092 KGO_TEST_RF=1 KGO_TEST_RECORDS=20000 go test ./pkg/kgo""",
        passed=111,
        skipped=6,
        when="2026-11-25",
        note="Skipped: share groups, which are not supported yet, and SCRAM, which was not then.",
    ),
    Suite(
        name="librdkafka, its own runner",
        version="2.15.0 (4c3b017c)",
        source="github.com/confluentinc/librdkafka",
        command="""\
$ ottla cluster --brokers 3        # num.partitions=4 in each broker's properties
$ cd tests && KAFKA_PATH=$KAFKA BROKERS=127.0.0.1:9092 ./test-runner -L -p2 -Q -V 4.3.0""",
        passed=96,
        skipped=79,
        when="2026-11-25",
        failures=(
            Failure(
                "`0115_producer_auth`, `0119_consumer_auth`", "not run", "no ACLs yet", count=2
            ),
            Failure(
                "`0081_admin`, `0109_auto_create_topics`",
                "not run",
                "their parts about ACLs",
                count=2,
            ),
        ),
        note=(
            "KAFKA_PATH is a folder whose `bin` has Kafka's scripts. Eight tests failed first, for "
            "lack of num.partitions=4 or on a busy machine, and passed when they were run alone."
        ),
    ),
    Suite(
        name="Kafka's verifiable producer and consumer",
        version="4.3.0",
        source="org.apache.kafka:kafka-tools",
        command="""\
$ ottla serve --override num.partitions=4
$ kafka-verifiable-producer --bootstrap-server 127.0.0.1:9092 --topic verify \\
    --max-messages 100000 --acks -1
$ kafka-verifiable-consumer --bootstrap-server 127.0.0.1:9092 --topic verify \\
    --group-id v --max-messages 100000 --reset-policy earliest""",
        passed=2,
        skipped=0,
        when="2026-11-25",
        note="100,000 records are acknowledged and read, and the group's commits succeed.",
    ),
    Suite(
        name="Kafka Streams and Spark, by this repository's tests",
        version="4.3.0 and 4.0.0",
        source="this repository",
        command="""\
$ .venv/bin/python -m pytest tests/chaos/test_delivery.py -k streams_count_words
$ .venv/bin/python -m pytest tests/compat/test_spark.py tests/compat/test_spark_streams.py""",
        passed=32,
        skipped=0,
        when="2026-11-25",
        note=(
            "A word count with `exactly_once_v2` through the deaths of all nodes, and Spark's "
            "source and sink in batches and streams."
        ),
    ),
)
