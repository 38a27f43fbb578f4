"""Which operations there are, and how a call becomes an answer.

`OPERATIONS` is filled by the files of `testbed.operations`:

    @operation("topic.create")
    async def create_topic(broker: Served, args: Arguments) -> Json: ...

An operation that cannot do what it is asked raises `OperationError`, whose kind is one of
`ottla.testing.errors`. Any other exception is our own bug: it is logged, and told in one line.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from broker.config.start_error import StartError
from ground.config_def import ConfigError
from ottla.testing.frames import Json, Message
from testbed.operation_error import OperationError
from testbed.served import NotStarted, Served

_log = logging.getLogger(f"ottla.{__name__}")

Arguments = Mapping[str, Json]
Operation = Callable[[Served, Arguments], Awaitable[Json]]

OPERATIONS: dict[str, Operation] = {}


def operation(name: str) -> Callable[[Operation], Operation]:
    """Register an operation by this name."""

    def register(function: Operation) -> Operation:
        assert name not in OPERATIONS, name
        OPERATIONS[name] = function
        return function

    return register


async def answer(broker: Served, message: Message) -> Message:
    """Do what a call asks for; its answer."""
    number, op = message.get("id"), str(message.get("op"))
    found = OPERATIONS.get(op)
    if found is None:
        return _error(number, "misuse", f"there is no operation {op}")
    try:
        return {"id": number, "result": await found(broker, message.get("args") or {})}
    except OperationError as error:
        return _error(number, error.kind, str(error))
    except NotStarted:
        text = f"{op} needs a broker that the tests have started: a running cluster has none of it"
        return _error(number, "not possible", text)
    except (StartError, ConfigError) as error:
        return _error(number, "start", " ".join(str(error).split()))
    except AssertionError:
        raise
    except Exception as error:  # noqa: BLE001 - told to whoever asked
        _log.exception("the operation %s", op)
        return _error(number, "failed", f"{op} failed: {type(error).__name__}: {error}")


def _error(number: Json, kind: str, text: str) -> Message:
    return {"id": number, "error": {"kind": kind, "text": text}}
