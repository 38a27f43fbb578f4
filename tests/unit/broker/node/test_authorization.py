"""A node with an authorizer: who is denied what, what is logged, what dies with ACLs."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from broker.config.authorizer import STANDARD_AUTHORIZER
from protocol.errors import ErrorCode
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from tests.unit.broker.node_fixture import Running

ANONYMOUS = "User:ANONYMOUS"
SETTINGS = {"authorizer.class.name": STANDARD_AUTHORIZER}
ACLS_NEED = [AclCreation(4, "kafka-cluster", 3, ANONYMOUS, "*", 2, 3)]


def values(running: Running) -> dict[str, float]:
    """Of the metrics of authorizers."""
    prefix = "kafka_server_plugins_"
    return {
        one.name.removeprefix(prefix): one.samples[0][1]
        for one in running.node.metrics.families()
        if one.name.startswith(prefix)
    }


def test_a_denial_is_logged_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    running = Running(tmp_path, **SETTINGS)
    caplog.set_level(logging.INFO, "ottla.authorizer")
    before = values(running)
    answer = running.ask(CreateAclsRequest(ACLS_NEED), 3)
    assert answer.results[0].error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert f"Principal = {ANONYMOUS} is Denied operation = ALTER" in caplog.text
    assert "for request = CreateAcls" in caplog.text
    counted = values(running)
    assert counted["authorization_denied"] == before["authorization_denied"] + 1
    assert counted["acls_total_count"] == 0


def test_what_is_allowed_changes_with_acls(tmp_path: Path) -> None:
    running = Running(tmp_path, **SETTINGS, **{"super.users": ANONYMOUS})
    epoch = running.node.broker.requests.admission.epoch
    running.ask(CreateAclsRequest(ACLS_NEED), 3)
    assert running.node.broker.requests.admission.epoch > epoch
    counted = values(running)
    assert counted["acls_total_count"] == 1 and counted["authorization_allowed"] >= 1


def test_without_an_authorizer_nothing_is_judged(tmp_path: Path) -> None:
    running = Running(tmp_path)
    answer = running.ask(CreateAclsRequest(ACLS_NEED), 3)
    assert answer.results[0].error_code == ErrorCode.SECURITY_DISABLED
    assert values(running) == {}
