"""franz-go over TLS and SASL: round trips with a group, and two transactions; delegation tokens.

client         SSL   SASL_SSL                      SASL_PLAINTEXT
franz-go       mTLS  PLAIN, SCRAM-SHA-512          SCRAM-SHA-256, OAUTHBEARER
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from tests.compat.security import token_round_trips
from tests.compat.security.secured_broker import SecuredBroker
from tests.compat.security.ways import (
    OAUTHBEARER,
    PLAIN,
    SASL_PLAINTEXT,
    SASL_SSL,
    SHA_256,
    SHA_512,
    SSL,
    franz_go,
)
from tests.tools.go_tools import go_program, run_go

# A first build compiles the client's modules.
pytestmark = [pytest.mark.go, pytest.mark.timeout(600)]

PAIRS = (
    (SSL, ""),
    (SASL_SSL, PLAIN),
    (SASL_SSL, SHA_512),
    (SASL_PLAINTEXT, SHA_256),
    (SASL_PLAINTEXT, OAUTHBEARER),
)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    go_program("franz")


@pytest.mark.parametrize(("protocol", "mechanism"), PAIRS)
def test_franz_go(secured: SecuredBroker, tmp_path: Path, protocol: str, mechanism: str) -> None:
    way = secured.way(protocol, mechanism)
    file = tmp_path / "way.json"
    file.write_text(json.dumps(franz_go(way)))
    done = run_go("franz", way.servers, "100", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["committed"] == 110


def test_delegation_tokens(secured: SecuredBroker, tmp_path: Path) -> None:
    way = secured.way(SASL_PLAINTEXT, PLAIN)
    file = tmp_path / "way.json"
    file.write_text(json.dumps(franz_go(way)))
    done = run_go("franz", way.servers, "tokens", str(file), secured.topic(f"{uuid.uuid4()}"))
    assert (done.returncode, done.stdout.splitlines()) == (0, token_round_trips.EXPECTED), done
