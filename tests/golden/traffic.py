"""Recorded requests of real clients, and the answers to them; and how to damage one."""

from __future__ import annotations

import random
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent
TRAFFIC = sorted(GOLDEN.glob("*/*_request.bin"))
ANSWERS = sorted(GOLDEN.glob("*/*_response.bin"))


def mutation(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Flip, splice, truncate, duplicate or overwrite."""
    at = rng.randrange(len(data))
    to = rng.randrange(at, min(len(data), at + 64)) + 1
    match rng.randrange(6):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[at:to] * 2 + data[to:]
        case 2:
            return data[:at] + data[to:]
        case 3:
            return data[:at] + other[rng.randrange(len(other)) :]
        case 4:
            extreme = rng.choice([b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0"])
            return data[:at] + extreme + data[at + 4 :]
        case _:
            changed = bytearray(data)
            for _ in range(rng.choice([1, 1, 4, 16])):
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            return bytes(changed)
