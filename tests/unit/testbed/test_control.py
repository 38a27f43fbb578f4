"""Calls become answers: results, refusals, and our own bugs."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from broker.config.start_error import StartError
from ground.config_def import ConfigError
from ottla.testing.frames import Json, JsonMessage
from testbed import control
from testbed.broker_under_test import BrokerUnderTest, NotStarted
from testbed.control import Arguments, answer, operation
from testbed.operation_error import OperationError

BROKER = cast(BrokerUnderTest, object())


@pytest.fixture(autouse=True)
def operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "OPERATIONS", {})


def asked(op: str, error: Exception | None = None, **args: Json) -> JsonMessage:
    @operation("it")
    async def it(broker: BrokerUnderTest, args: Arguments) -> Json:
        assert broker is BROKER
        if error is not None:
            raise error
        return dict(args)

    return asyncio.run(answer(BROKER, {"id": 5, "op": op, "args": args}))


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (OperationError("misuse", "there is no topic t"), "misuse", "there is no topic t"),
        (OperationError("deadline", "nobody came"), "deadline", "nobody came"),
        (StartError("a line\n  and more"), "start", "a line and more"),
        (ConfigError("key", "unknown key"), "start", "unknown key"),
        (
            NotStarted(),
            "not possible",
            "it needs a broker that the tests have started: a running cluster has none of it",
        ),
        (KeyError("x"), "failed", "it failed: KeyError: 'x'"),
    ],
)
def test_an_error(error: Exception, kind: str, text: str) -> None:
    assert asked("it", error) == {"id": 5, "error": {"kind": kind, "text": text}}


def test_a_broken_invariant_goes_on() -> None:
    with pytest.raises(AssertionError):
        asked("it", AssertionError())


def test_an_operation_that_there_is_not() -> None:
    assert asked("that")["error"]["text"] == "there is no operation that"


def test_no_name_is_given_twice() -> None:
    asked("it")
    with pytest.raises(AssertionError):
        asked("it")
