"""The table of operations, and the way from a call to its answer.

`OPERATIONS` is filled by the modules of `testbed.operations`:

    @operation("topic.create")
    async def create_topic(broker: BrokerUnderTest, args: Arguments) -> Json: ...

An operation that fails raises `OperationError`, whose kind is one of `ottla.testing.errors`. Any
other exception is a bug of Ottla: it is logged, and the caller gets one line about it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from broker.config.start_error import StartError
from ground.config_def import ConfigError
from ottla.testing.frames import Json, JsonMessage
from testbed.broker_under_test import BrokerUnderTest, NotStarted
from testbed.operation_error import OperationError

_log = logging.getLogger(f"ottla.{__name__}")

Arguments = Mapping[str, Json]
Operation = Callable[[BrokerUnderTest, Arguments], Awaitable[Json]]

OPERATIONS: dict[str, Operation] = {}


def operation(name: str) -> Callable[[Operation], Operation]:
    """Return a decorator that adds a function to `OPERATIONS` under this name, and returns the
    function unchanged. The name must be new."""

    def register(function: Operation) -> Operation:
        assert name not in OPERATIONS, name
        OPERATIONS[name] = function
        return function

    return register


async def answer(broker: BrokerUnderTest, message: JsonMessage) -> JsonMessage:
    """Carry out the operation of a call, and return the answer message: its result, or its error as
    kind and text. An unexpected exception is an error too, and is logged. Raises AssertionError."""
    number, op = message.get("id"), str(message.get("op"))
    operate = OPERATIONS.get(op)
    if operate is None:
        return _error(number, "misuse", f"there is no operation {op}")
    try:
        return {"id": number, "result": await operate(broker, message.get("args") or {})}
    except OperationError as error:
        return _error(number, error.kind, str(error))
    except NotStarted:
        text = f"{op} needs a broker that the tests have started: a running cluster has none of it"
        return _error(number, "not possible", text)
    except (StartError, ConfigError) as error:
        return _error(number, "start", " ".join(str(error).split()))
    except AssertionError:
        raise
    except Exception as error:  # noqa: BLE001 - the caller gets it as an error
        _log.exception("the operation %s", op)
        return _error(number, "failed", f"{op} failed: {type(error).__name__}: {error}")


def _error(number: Json, kind: str, text: str) -> JsonMessage:
    """Return the answer message to call `number` with an error."""
    return {"id": number, "error": {"kind": kind, "text": text}}
