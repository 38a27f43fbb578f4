"""The audit log: its lines, how many of them, and what is counted."""

from __future__ import annotations

import logging

import pytest

from broker.requests.audit_log import AuditLog
from controller.authorization.rights import Verdict
from ottla.plugins.authorizer import Action, Asker, Operation, Resource
from protocol.api_keys import ApiKey

DENIED, ALLOWED = Verdict(False, "DefaultDeny"), Verdict(True, "SuperUser")
READ = Action(Operation.READ, Resource.TRANSACTIONAL_ID, "secret")
LOGGER = "ottla.authorizer"


def asker(principal: str = "User:mallory", api: ApiKey = ApiKey.ADD_OFFSETS_TO_TXN) -> Asker:
    return Asker(principal, "10.0.0.7", "CLIENTS", "SASL_SSL", "me", api, 1)


def test_a_denial_says_who_what_whence_and_why(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    audit = AuditLog(10, lambda: 0.0)
    audit.record_verdict(asker(), READ, DENIED, 3)
    audit.record_verdict(asker(), READ, ALLOWED, 1)
    (record,) = caplog.records
    assert (record.name, record.levelno) == (LOGGER, logging.INFO)
    assert record.getMessage() == (
        "Principal = User:mallory is Denied operation = READ from host = 10.0.0.7 "
        "on resource = TransactionalId:LITERAL:secret for request = AddOffsetsToTxn "
        "with resourceRefCount = 3 based on rule DefaultDeny"
    )
    assert (audit.denied, audit.allowed) == (1, 1)


def test_what_is_allowed_is_told_to_who_wants_to_know(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, LOGGER)
    AuditLog(1, lambda: 0.0).record_verdict(asker(), READ, ALLOWED, 1)
    assert "is Allowed operation = READ" in caplog.text


def test_a_flood_is_counted_and_not_written(caplog: pytest.LogCaptureFixture) -> None:
    now_s = 5.0
    caplog.set_level(logging.INFO, LOGGER)
    audit = AuditLog(2, lambda: now_s)
    for _ in range(9):
        audit.record_verdict(asker(), READ, DENIED, 1)
    assert len(caplog.messages) == 2
    now_s = 6.0
    audit.record_verdict(asker(), READ, DENIED, 1)
    assert caplog.messages[-1].endswith("DefaultDeny; 7 denials before this one were not logged")
    assert audit.denied == 10


def test_nobody_writes_lines_of_their_own(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    action = READ._replace(name="x\nERROR\x1b[2J" + "y" * 10_000)
    AuditLog(2, lambda: 0.0).record_verdict(asker("User:a\nb"), action, DENIED, 1)
    (line,) = caplog.messages
    assert line.isprintable() and len(line) < 1_000
    assert "User:a?b" in line and "x?ERROR?[2J" in line


def test_nothing_is_written_to_who_wants_silence(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, LOGGER)
    audit = AuditLog(2, lambda: 0.0)
    audit.record_verdict(asker(), READ, DENIED, 1)
    assert caplog.messages == [] and audit.denied == 1
