"""ACLs made, listed, used and removed by each client that can, on the secured broker.

    confluent-kafka, kafka-python, franz-go, Java's admin, and Kafka's kafka-acls

The admin is ann, who may do everything; bob may do what the ACLs say. aiokafka has no ACLs. The
Java part is in `test_java_and_tools`, where the JVM is.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from tests.compat.security.acl_round_trips import ACL_ROUND_TRIPS, EXPECTED, USER
from tests.compat.security.secured_broker import SecuredBroker
from tests.compat.security.ways import PLAIN, SASL_PLAINTEXT, SASL_SSL, SHA_512, franz_go
from tests.tools.go_tools import go_program, run_go


@pytest.mark.parametrize("client", ACL_ROUND_TRIPS)
def test_the_python_clients(secured: SecuredBroker, client: str) -> None:
    topic = secured.topic(f"{uuid.uuid4()}")
    admin, user = secured.way(SASL_SSL, SHA_512), secured.way(SASL_PLAINTEXT, PLAIN, user=USER)
    assert ACL_ROUND_TRIPS[client](admin, user, topic) == EXPECTED


@pytest.mark.go
@pytest.mark.timeout(600)  # a first build compiles the client's modules
def test_franz_go(secured: SecuredBroker, tmp_path: Path) -> None:
    go_program("franz")
    topic = secured.topic(f"{uuid.uuid4()}")
    files = []
    user = secured.way(SASL_PLAINTEXT, PLAIN, user=USER)
    for way in (secured.way(SASL_PLAINTEXT, SHA_512), user):
        files.append(tmp_path / f"{way.user}.json")
        files[-1].write_text(json.dumps(franz_go(way)))
    done = run_go("franz", user.servers, "acls", *map(str, files), topic)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [line.rstrip() for line in EXPECTED]
