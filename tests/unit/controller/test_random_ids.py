"""`controller.random_ids`."""

from __future__ import annotations

import random

from controller.random_ids import random_uuid
from protocol.primitives import uuid_to_string


def test_version_4_and_printable() -> None:
    source = random.Random(1).randbytes
    for _ in range(2_000):
        drawn = random_uuid(source)
        assert (drawn[6] >> 4, drawn[8] >> 6) == (4, 2)
        assert not uuid_to_string(drawn).startswith("-")


def test_a_leading_dash_is_drawn_again() -> None:
    draws = [bytes([0xF8] + [0] * 15), bytes([1] * 16)]
    assert random_uuid(lambda _: draws.pop(0))[0] == 1
