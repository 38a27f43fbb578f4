"""Public test suites that were run against Ottla, parts of them also against Apache Kafka 4.4.0.

Data of `docs/compatibility.md`: each suite, its command, and the tests that did not pass. A test
that fails on Apache Kafka too shows no fault of the broker; each other failure has its reason.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """Tests that do not pass on Ottla, for one reason."""

    test: str
    on_kafka: str
    """On Apache Kafka 4.4.0: "not run", "passes", or a text that begins with "fails"."""
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
$ export KAFKA_ROOT=$OTTLA/tests/conformance/kafka_python_broker
$ KAFKA_VERSION=4.4.0 python -m pytest test/integration""",
        passed=66,
        skipped=1,
        when="2026-11-30",
        note=(
            "The suite starts its brokers itself, with Kafka's scripts from the folder KAFKA_ROOT. "
            "`tests/conformance/kafka_python_broker` has scripts of the same names, which format "
            "and start Ottla, and run Kafka's own `kafka-topics`. The suite's configuration files "
            "have an authorizer, and a listener with PLAINTEXT, SSL, or SASL_PLAINTEXT (PLAIN, "
            "SCRAM-SHA-256, SCRAM-SHA-512). This version of kafka-python does not know Kafka "
            "4.4, and takes it for the release before."
        ),
    ),
    Suite(
        name="aiokafka, all tests",
        version="0.14.0",
        source="github.com/aio-libs/aiokafka",
        command="""\
$ export PYTHONPATH=$OTTLA/tests/conformance/aiokafka_docker PATH=$PYTHONPATH:$PATH
$ export BROKER_COMMAND="ottla serve --config {config}"
$ export TOOL_COMMAND="env -C $OTTLA python3 -m tests.tools.java_tools {tool}"
$ python -m pytest tests --docker-image any/kafka:4.4.0 --no-pull -k 'not gssapi'""",
        passed=975,
        skipped=106,
        when="2026-11-30",
        note=(
            "The suite starts its broker as a container, with the package `docker`. "
            "`tests/conformance/aiokafka_docker` replaces that package: it runs BROKER_COMMAND, "
            "with the listeners, users and authorizer that the container would have. Kafka's own "
            "`kafka-acls` (TOOL_COMMAND) creates the ACLs. Two tests of Kerberos did not run and "
            "count as skipped. 103 others are skipped because a list of parameters is empty, and "
            "one because it is for releases before 1.0. In an earlier run without "
            "`group.initial.rebalance.delay.ms=0`, `test_max_poll_interval_ms` failed."
        ),
    ),
    Suite(
        name="franz-go, pkg/kgo",
        version="1.22.3",
        source="github.com/twmb/franz-go",
        command="""\
$ ottla format --config node.properties \\
    --add-scram 'SCRAM-SHA-256=[name=testuser,password=testpass]'
$ ottla serve --config node.properties
$ ottla acl add --allow-principal User:CN=client --operation All --topic '*' --group '*' \\
    --transactional-id '*' --cluster
$ export KGO_TEST_RF=1 KGO_TEST_RECORDS=20000
$ export KGO_TEST_SCRAM_SEEDS=127.0.0.1:9094 KGO_TEST_SCRAM=testuser:testpass
$ export KGO_TEST_OAUTH_SEEDS=127.0.0.1:9095
$ KGO_SEEDS=127.0.0.1:9093 KGO_TEST_TLS=ca:ca.pem,cert:client.crt,key:client.key \\
    go test ./pkg/kgo -skip TestIssue769
$ KGO_SEEDS=127.0.0.1:9092 go test ./pkg/kgo -run TestIssue769""",
        passed=155,
        skipped=1,
        when="2026-11-30",
        note=(
            "`node.properties` has an authorizer and four listeners for clients: PLAINTEXT on "
            "9092, whose clients are super users, SSL with client certificates on 9093, and two of "
            "SASL_PLAINTEXT, with SCRAM on 9094 and with OAUTHBEARER on 9095. The suite's tokens "
            "are unsigned: `ottla.sasl.oauthbearer.unsecured.tokens.allowed=true`. `TestIssue769` "
            "has its own dialer, which kgo rejects together with TLS, so the last command runs it "
            "on the PLAINTEXT listener. Five tests of share groups ran on 2026-12-01, with "
            "`-run Share`. The suite skips a test for brokers that do not name Produce v2; Ottla "
            "names it, as Kafka 4.4 does."
        ),
    ),
    Suite(
        name="librdkafka, its own runner",
        version="2.15.0 (4c3b017c)",
        source="github.com/confluentinc/librdkafka",
        command="""\
$ ottla serve --config node-1.properties --cluster-id $ID        # and nodes 2 and 3
$ cd tests && echo metadata.broker.list=127.0.0.1:9092 > test.conf
$ KAFKA_PATH=$KAFKA BROKERS=127.0.0.1:9092 ./test-runner -L -p2 -Q -V 4.4.0""",
        passed=103,
        skipped=85,
        when="2026-11-30",
        failures=(
            Failure(
                "`0081_admin`",
                "passes, on one node",
                "the test changes `sasl.kerberos.min.time.before.relogin` of a running broker. "
                "Ottla rejects changes of keys that it applies only at a start. With "
                "`log.cleaner.backoff.ms` instead of this key, all parts of the test passed",
            ),
        ),
        note=(
            "Each node has `num.partitions=4`, an authorizer with "
            "`allow.everyone.if.no.acl.found=true`, and a PLAINTEXT listener for clients. The "
            "nodes log in to each other by SASL, as a super user. KAFKA_PATH is a folder whose "
            "`bin` has Kafka's scripts. 75 of the skipped tests need no broker (`-L`) or have "
            "a known issue. Quick mode (`-Q`) leaves out every part of 13 tests of share groups, "
            "which the runner counts as passed; the next run has them all. "
            "`0184_share_consumer_topic_recreate` ran again on 2026-12-01, on one node."
        ),
    ),
    Suite(
        name="librdkafka, its own runner, tests of share groups in full",
        version="2.15.0 (4c3b017c)",
        source="github.com/confluentinc/librdkafka",
        command="""\
$ ottla serve --override num.partitions=4 \\
    --override group.share.min.heartbeat.interval.ms=100 \\
    --override group.share.heartbeat.interval.ms=500 \\
    --override group.share.min.record.lock.duration.ms=1000
$ cd tests && echo metadata.broker.list=127.0.0.1:9092 > test.conf
$ echo test.timeout.multiplier=3 >> test.conf
$ for test in $(seq 170 181) 184 185; do TESTS=0$test ./test-runner -p1 -V 4.4.0; done""",
        passed=14,
        skipped=0,
        when="2026-12-01",
        note=(
            "All parts of the tests that need a broker, among them those that quick mode leaves "
            "out. Some set a group's locks to 3 seconds, less than a broker's default allows. "
            "With the default heartbeats and timeout, the tests take longer than the runner lets "
            "them. `0190_share_consumer_telemetry` did not run: the runner "
            "takes it for a manual test."
        ),
    ),
    Suite(
        name="franz-go, pkg/kgo, groups of both protocols",
        version="1.22.3",
        source="github.com/twmb/franz-go",
        command="""\
$ ottla serve --config node.properties
$ export KGO_TEST_RF=1 KGO_TEST_RECORDS=20000 KGO_SEEDS=127.0.0.1:9092
$ go test ./pkg/kgo -run 'TestGroupETL|TestTxnEtl|848'
$ go test ./pkg/kgo -run TestGroupSimple -count 2""",
        passed=17,
        skipped=0,
        when="2026-11-30",
        note=(
            "Ten of the tests concern the consumer protocol (KIP-848): `TestGroupETL` and "
            "`TestTxnEtl` with `range/848`, `sticky/848` and `sticky/848/static`, "
            "`TestGroupSimple/848`, `Test848RegexBrokerResolves`, and two tests that need no "
            "broker. `TestGroupSimple/848` skips itself until the suite has requested the API "
            "versions. So the last command runs it twice (`-count 2`)."
        ),
    ),
    Suite(
        name="librdkafka, its own runner, group.protocol=consumer",
        version="2.15.0 (4c3b017c)",
        source="github.com/confluentinc/librdkafka",
        command="""\
$ export TEST_CONSUMER_GROUP_PROTOCOL=consumer KAFKA_PATH=$KAFKA BROKERS=127.0.0.1:9092
$ cd tests && ./test-runner -L -p2 -Q -V 4.4.0""",
        passed=101,
        skipped=87,
        when="2026-11-30",
        failures=(
            Failure(
                "`0081_admin`",
                "passes with the classic protocol, on one node",
                "as in the run with the classic protocol",
            ),
        ),
        note=(
            "The nodes are those of the run with the classic protocol. The suite skips the same "
            "tests, one that is for the classic protocol only, and one that its authors have yet "
            "to change for the consumer protocol. `0184_share_consumer_topic_recreate` ran again "
            "on 2026-12-01, on one node."
        ),
    ),
    Suite(
        name="Kafka's verifiable producer and consumers",
        version="4.4.0",
        source="org.apache.kafka:kafka-tools",
        command="""\
$ ottla serve --override num.partitions=4
$ kafka-verifiable-producer --bootstrap-server 127.0.0.1:9092 --topic verify \\
    --max-messages 100000 --acks -1
$ kafka-verifiable-consumer --bootstrap-server 127.0.0.1:9092 --topic verify \\
    --group-id v --max-messages 100000 --reset-policy earliest
$ kafka-verifiable-share-consumer --bootstrap-server 127.0.0.1:9092 --topic verify \\
    --group-id s --max-messages 100000 --offset-reset-strategy earliest \\
    --acknowledgement-mode sync""",
        passed=3,
        skipped=0,
        when="2026-12-01",
        note=(
            "Ottla acknowledged all 100,000 records. The consumer read them all, and committed "
            "their offsets without an error. The share consumer read each record once, and "
            "acknowledged it without an error."
        ),
    ),
    Suite(
        name="Kafka Streams and Spark, by this repository's tests",
        version="4.4.0 and 4.0.0",
        source="this repository",
        command="""\
$ .venv/bin/python -m pytest tests/chaos/test_delivery.py -k streams_count_words
$ .venv/bin/python -m pytest tests/compat/spark -k test_spark""",
        passed=29,
        skipped=0,
        when="2026-11-30",
        note=(
            "The first command runs a word count of Kafka Streams with `exactly_once_v2`, while "
            "each of three nodes, and the application three times, is killed. The second command "
            "runs tests of Spark's Kafka source and sink, in batches and streams."
        ),
    ),
)
