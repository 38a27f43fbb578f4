"""Java's client over TLS and SASL, and Kafka's own tools with `--command-config`.

    client         SSL   SASL_SSL                     SASL_PLAINTEXT
    Java           mTLS  SCRAM-SHA-512, OAUTHBEARER   PLAIN, SCRAM-SHA-256
    Kafka's tools  mTLS  PLAIN, SCRAM-SHA-256         SCRAM-SHA-512, OAUTHBEARER

The client makes its round trips (a transaction, and a group that reads it) in one JVM, and the
tools run in one JVM too: a topic is created and described, altered, written and read. Java's admin
(`tests/java/src/AclRoundTrip.java`) and kafka-acls make, list, use and remove ACLs there; so do
`TokenRoundTrip.java` and kafka-delegation-tokens with delegation tokens.
"""

from __future__ import annotations

import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.security import token_round_trips
from tests.compat.security.acl_round_trips import ELSEWHERE, EXPECTED, PREFIX_LENGTH, USER
from tests.compat.security.secured_broker import SecuredBroker
from tests.compat.security.ways import (
    OAUTHBEARER,
    PLAIN,
    SASL_PLAINTEXT,
    SASL_SSL,
    SHA_256,
    SHA_512,
    SSL,
    java_permission,
    java_properties,
)
from tests.tools.java_tools import FAST_START, java_command, program_classpath
from tests.tools.kafka_tools import CONSUME_TIMEOUT_MS, KafkaTools, ToolResult

pytestmark = pytest.mark.java

JAVA = (
    (SSL, ""),
    (SASL_SSL, SHA_512),
    (SASL_SSL, OAUTHBEARER),
    (SASL_PLAINTEXT, PLAIN),
    (SASL_PLAINTEXT, SHA_256),
)
TOOLS = (
    (SSL, ""),
    (SASL_SSL, PLAIN),
    (SASL_SSL, SHA_256),
    (SASL_PLAINTEXT, SHA_512),
    (SASL_PLAINTEXT, OAUTHBEARER),
)
RECORDS = 30
RANGE = "127.0.0.0/8"
"""Where the clients of these tests are."""


def jvm(secured: SecuredBroker) -> tuple[str, ...]:
    return (*FAST_START, *java_permission(secured.way(SASL_SSL, OAUTHBEARER)))


def test_the_java_client(secured: SecuredBroker, tmp_path: Path) -> None:
    files = [java_properties(secured.way(*pair), tmp_path) for pair in JAVA]
    command = java_command(
        "SecuredRoundTrip", *map(str, files), classpath=program_classpath(), jvm=jvm(secured)
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    outcomes = dict(zip(map(str, JAVA), done.stdout.splitlines(), strict=False))
    assert outcomes == {str(pair): "ok 50" for pair in JAVA}, done.stderr


@pytest.fixture(scope="module")
def tools(secured: SecuredBroker) -> Iterator[KafkaTools]:
    """Kafka's command-line tools in one JVM."""
    with KafkaTools("", jvm(secured)) as running:
        yield running


@pytest.mark.parametrize(("protocol", "mechanism"), TOOLS)
def test_kafkas_tools(
    secured: SecuredBroker, tools: KafkaTools, tmp_path: Path, protocol: str, mechanism: str
) -> None:
    way = secured.way(protocol, mechanism)
    settings = ("--command-config", str(java_properties(way, tmp_path)))
    name = f"tools-{uuid.uuid4()}"
    topic = ("--topic", name)

    def run(tool: str, *arguments: str, stdin: str = "") -> ToolResult:
        server = ("--bootstrap-server", way.servers)
        done = tools.run(tool, *server, *settings, *arguments, stdin=stdin)
        assert done.exit == 0, done
        return done

    assert run("kafka-topics", "--create", *topic).lines == [f"Created topic {name}."]
    entity = ("--entity-type", "topics", "--entity-name", name)
    run("kafka-configs", "--alter", *entity, "--add-config", "retention.ms=1000000")
    assert "retention.ms=1000000" in run("kafka-topics", "--describe", *topic).stdout
    values = [f"value {i}" for i in range(RECORDS)]
    run("kafka-console-producer", *topic, stdin="".join(f"{value}\n" for value in values))
    read = run(
        "kafka-console-consumer",
        *(*topic, "--group", name, "--from-beginning", "--max-messages", str(RECORDS)),
        *("--timeout-ms", CONSUME_TIMEOUT_MS),
    )
    assert read.lines == values


def test_a_tool_that_is_not_let_in_says_why(
    secured: SecuredBroker, tools: KafkaTools, tmp_path: Path
) -> None:
    way = secured.way(SASL_SSL, SHA_256, password="guess")
    settings = ("--command-config", str(java_properties(way, tmp_path)))
    done = tools.run("kafka-topics", "--bootstrap-server", way.servers, *settings, "--list")
    assert done.exit == 1
    assert "invalid credentials with SASL mechanism SCRAM-SHA-256" in done.stdout + done.stderr


def test_acls_by_javas_admin(secured: SecuredBroker, tools: KafkaTools, tmp_path: Path) -> None:
    admin, user = secured.way(SASL_SSL, SHA_512), secured.way(SASL_PLAINTEXT, PLAIN, user=USER)
    files = [str(java_properties(way, tmp_path)) for way in (admin, user)]
    done = tools.run("AclRoundTrip", *files, secured.topic(f"{uuid.uuid4()}"))
    assert (done.exit, done.stdout.splitlines()) == (0, EXPECTED), done


def test_acls_by_kafkas_tool(secured: SecuredBroker, tools: KafkaTools, tmp_path: Path) -> None:
    topic = secured.topic(f"{uuid.uuid4()}")
    admin = secured.way(SASL_SSL, SHA_256)
    server = ("--bootstrap-server", admin.servers)
    settings = ("--command-config", str(java_properties(admin, tmp_path)))
    prefixed = ("--topic", topic[:PREFIX_LENGTH], "--resource-pattern-type", "prefixed")
    match = ("--topic", topic, "--resource-pattern-type", "match")

    def acls(*arguments: str) -> ToolResult:
        done = tools.run("kafka-acls", *server, *settings, *arguments)
        assert done.exit == 0, done
        return done

    def listed(*arguments: str) -> list[str]:
        found = re.findall(
            r"patternType=(\w+)|host=(\S+), operation=(\w+), permissionType=(\w+)",
            acls("--list", *arguments).stdout,
        )
        pattern, texts = "", []
        for kind, host, operation, permission in found:
            pattern = kind or pattern
            if host:
                texts.append(f"{permission} {operation} {pattern} {host}")
        return sorted(texts)

    def seen_by_the_user() -> list[str]:
        user = secured.way(SASL_PLAINTEXT, PLAIN, user=USER)
        config = ("--command-config", str(java_properties(user, tmp_path)))
        done = tools.run("kafka-topics", "--bootstrap-server", user.servers, *config, "--list")
        assert done.exit == 0, done
        return [line for line in done.lines if line == topic]

    assert seen_by_the_user() == []
    allowed = ("--allow-principal", f"User:{USER}", "--allow-host", RANGE)
    acls("--add", *allowed, "--producer", "--topic", topic)
    refused = ("--deny-principal", f"User:{USER}", "--deny-host", ELSEWHERE)
    acls("--add", *refused, "--operation", "Read", *prefixed)
    assert listed(*match) == [
        *(f"ALLOW {operation} LITERAL {RANGE}" for operation in ("CREATE", "DESCRIBE", "WRITE")),
        f"DENY READ PREFIXED {ELSEWHERE}",
    ]
    assert listed("--principal", "User:nobody", *match) == []
    assert seen_by_the_user() == [topic]
    acls("--remove", "--force", *match)
    assert listed(*match) == []
    assert seen_by_the_user() == []


def test_delegation_tokens_by_javas_clients(
    secured: SecuredBroker, tools: KafkaTools, tmp_path: Path
) -> None:
    file = java_properties(secured.way(SASL_SSL, SHA_256), tmp_path)
    done = tools.run("TokenRoundTrip", str(file), secured.topic(f"{uuid.uuid4()}"))
    assert (done.exit, done.stdout.splitlines()) == (0, token_round_trips.EXPECTED), done


def test_delegation_tokens_by_kafkas_tool(
    secured: SecuredBroker, tools: KafkaTools, tmp_path: Path
) -> None:
    way = secured.way(SASL_SSL, SHA_512)
    settings = ("--command-config", str(java_properties(way, tmp_path)))

    def run(*arguments: str) -> ToolResult:
        done = tools.run(
            "kafka-delegation-tokens", "--bootstrap-server", way.servers, *settings, *arguments
        )
        assert done.exit == 0, done
        return done

    renewer = ("--renewer-principal", "User:bob")
    made = run("--create", "--max-life-time-period", "-1", *renewer)
    token_id, hmac = _token(made)
    mine = ("--describe", "--owner-principal", f"User:{way.user}")
    assert token_id in run(*mine).stdout
    assert "renew" in run("--renew", "--renew-time-period", "-1", "--hmac", hmac).stdout
    assert "expire" in run("--expire", "--expiry-time-period", "-1", "--hmac", hmac).stdout
    while token_id in run(*mine).stdout:
        pass


def _token(made: ToolResult) -> tuple[str, str]:
    """Id and HMAC, of the table that the tool prints."""
    row = made.lines[-1].split()
    return row[0], row[1]
