"""The operation that moves a broker's clocks, as `ottla.testing` asks for it."""

from __future__ import annotations

import asyncio
import time

from ottla.testing.frames import Json
from testbed.broker_under_test import BrokerUnderTest
from testbed.control import Arguments, operation
from testbed.operation_error import OperationError

_TURNS = 3
_BLOCKING_S = 5.0


@operation("time.advance")
async def advance(broker: BrokerUnderTest, args: Arguments) -> Json:
    """Move the clocks forward by `ms`, and fire the timers that become due. Return how many fired,
    and how many milliseconds the clocks are ahead now ("fired", "ahead_ms").

    Raises OperationError for a negative `ms`.
    """
    ms = float(args["ms"])
    if ms < 0:
        raise OperationError("misuse", f"time goes on and never back: not by {ms} ms")
    fired = await broker.clock.advance(ms, lambda: _settle(broker))
    return {"fired": fired, "ahead_ms": broker.clock.ahead_ms}


async def _settle(broker: BrokerUnderTest) -> None:
    """Wait until the work that was begun on the loop, in threads and in processes is done, for at
    most 5 s."""
    server = broker.server
    deadline_s = time.monotonic() + _BLOCKING_S
    quiet = 0
    while quiet < _TURNS and time.monotonic() < deadline_s:
        quiet = 0 if server.outstanding else quiet + 1
        await asyncio.sleep(0)  # lets the loop notice that work in threads has ended
