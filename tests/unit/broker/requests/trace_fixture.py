"""A tracer whose clock moves on a second a look, who asks, and a request that it traces."""

from __future__ import annotations

from broker.requests.context import RequestContext
from broker.requests.request_trace import (
    RequestTrace,
)
from broker.requests.tracer import Tracer
from controller.authorization.rights import UNLIMITED


class Clock:
    """Each look is a second later."""

    now_s = 100.0

    def __call__(self) -> float:
        self.now_s += 1.0
        return self.now_s


def tracer() -> Tracer:
    return Tracer(Clock(), lambda: 5, lambda size, plain: f"{size} {plain}")


def asks(client_id: str = "ottla-trace-me", protocol: str = "PLAINTEXT") -> RequestContext:
    return RequestContext(
        0, 9, 1, client_id, "here", "L", "c", UNLIMITED, security_protocol=protocol
    )


def traced(keeper: Tracer, context: RequestContext | None = None) -> RequestTrace:
    trace = keeper.request(context or asks(), 77, None)
    assert trace is not None
    return trace
