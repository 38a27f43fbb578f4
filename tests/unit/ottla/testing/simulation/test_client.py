"""What a client refuses; what it does, on a broker: `test_run.py`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from ottla.testing.errors import Misuse
from ottla.testing.simulation.client import SimulatedClient
from ottla.testing.simulation.driver import Driver
from tests.unit.ottla.testing.simulation.made_up import MadeUpWorld

Call = Callable[[SimulatedClient], Awaitable[object]]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda c: c.produce("t", b"", acks=2), "acks is 'all', 1 or 0, not 2"),
        (
            lambda c: c.read("t", offset="first"),
            "an offset is a number, 'earliest' or 'latest', not 'first'",
        ),
    ],
)
def test_what_is_wrong_is_said(call: Call, why: str) -> None:
    with pytest.raises(Misuse, match=why):
        Driver(MadeUpWorld()).run(call(SimulatedClient("c", idempotent=False)))
