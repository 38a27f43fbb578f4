"""A node with an authorizer: who is denied what, what is logged, what dies with ACLs."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker.config.authorizer import STANDARD_AUTHORIZER
from broker.requests.context import RequestContext
from controller.authorization.rights import UNLIMITED
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.describe_acls import DescribeAclsRequest
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
        patch.setattr(type(running.node.controller.raft), "announced_high_watermark", None)
        assert not may_alter(ANONYMOUS)
        assert may_alter("User:admin")
    assert may_alter(ANONYMOUS)


# --- an authorizer of somebody's own --------------------------------------------------------------

MODULE = """
from ottla.plugins.authorizer import Authorizer, Operation

class Rights(Authorizer):
    def configure(self, settings, changed, standard):
        type(self).changed, self.standard = changed, standard

    def allows(self, asker, action):
        if action.operation is Operation.ALTER:
            return True
        return self.standard.allows(asker, action)

class Remembered(Rights):
    remembered = True

class Failing(Rights):
    def allows(self, asker, action):
        raise KeyError(action.name)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "ottla_test_rights.py").write_text(MODULE)
    monkeypatch.syspath_prepend(folder)
    import ottla_test_rights  # type: ignore[import-not-found]

    yield ottla_test_rights
    del sys.modules["ottla_test_rights"]


def running(folder: Path, name: str) -> Running:
    return Running(folder / "data", **{"authorizer.class.name": f"ottla_test_rights:{name}"})


def test_an_authorizer_of_ones_own_judges_and_acls_are_served_still(
    tmp_path: Path, module: Any
) -> None:
    node = running(tmp_path, "Rights")
    read = [AclCreation(2, "t", 3, ANONYMOUS, "*", 3, 3)]
    answer = node.ask(CreateAclsRequest(read), 3)
    assert [one.error_code for one in answer.results] == [0]
    assert values(node)["acls_total_count"] == 1
    denied = node.ask(DescribeAclsRequest(1, None, 1, None, None, 1, 1), 3)
    assert denied.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    describe = [AclCreation(4, "kafka-cluster", 3, ANONYMOUS, "*", 8, 3)]
    node.ask(CreateAclsRequest(describe), 3)
    told = node.ask(DescribeAclsRequest(1, None, 1, None, None, 1, 1), 3)
    assert told.error_code == 0, "it asked the one that is built in, which goes by the ACLs"


def test_only_a_word_that_may_be_remembered_lets_requests_be_prepared(
    tmp_path: Path, module: Any
) -> None:
    assert not running(tmp_path / "a", "Rights").node.broker.requests.admission.may_prepare
    admission = running(tmp_path / "b", "Remembered").node.broker.requests.admission
    assert admission.may_prepare
    epoch = admission.epoch
    module.Remembered.changed()
    assert admission.epoch == epoch + 1


def test_one_that_fails_denies(
    tmp_path: Path, module: Any, caplog: pytest.LogCaptureFixture
) -> None:
    node = running(tmp_path, "Failing")
    answer = node.ask(CreateAclsRequest(ACLS_NEED), 3)
    assert answer.results[0].error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert "ottla_test_rights:Failing failed" in caplog.messages
