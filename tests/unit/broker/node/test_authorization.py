"""A node with an authorizer: who is denied what, what is logged, what dies with ACLs."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from broker.config.authorizer import STANDARD_AUTHORIZER
from broker.requests.context import RequestContext
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.rights import UNLIMITED
from tests.unit.broker.node_fixture import Running

ANONYMOUS = "User:ANONYMOUS"
SETTINGS = {"authorizer.class.name": STANDARD_AUTHORIZER}
CONTEXT = RequestContext(30, 3, 1, None, "127.0.0.1", "PLAINTEXT", "c", UNLIMITED)
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


def test_until_the_metadata_is_loaded_only_super_users_pass(tmp_path: Path) -> None:
    """Also where no ACL is to mean that all is allowed: there may be some that are not read yet."""
    everybody = {"allow.everyone.if.no.acl.found": "true", "super.users": "User:admin"}
    running = Running(tmp_path, **SETTINGS, **everybody)
    admission = running.node.broker.requests.admission

    def may_alter(principal: str) -> bool:
        asker = replace(CONTEXT, principal=principal)
        return admission.rights_of(asker, None, 30, 3).allows_on_cluster(Operation.ALTER)

    assert may_alter(ANONYMOUS)
    running.node.controller._loaded = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(running.node.controller.raft), "told_committed", None)
        assert not may_alter(ANONYMOUS)
        assert may_alter("User:admin")
    assert may_alter(ANONYMOUS)
