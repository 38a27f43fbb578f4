"""Runs `replay.c`, which sends frames that are encoded beforehand, so that the broker is the limit.

Client and broker share the machine, and the same loop in Python takes twice the CPU for a request.
"""

from __future__ import annotations

import array
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import pack

from bench.compiled import compiled

SOURCE = Path(__file__).with_name("replay.c")
END_S = 60.0
NO_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True)
class ReplayedConnection:
    """A connection: its port, and the frames that it sends in turn."""

    port: int
    frames: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay; `trips` are in seconds, one for each answer."""

    answers: int
    received_bytes: int
    seconds: float
    cpu_s: float
    trips: Sequence[float]


def replay_targets(
    targets: Sequence[ReplayedConnection],
    seconds: float,
    *,
    depth: int = 1,
    answered: bool = True,
    most: int = NO_LIMIT,
) -> Replayed:
    """Send the frames of each connection in turn, with at most `depth` of its requests in flight.

    Ends after so many seconds or `most` requests, when all are answered. With `answered` false
    (acks=0) `answers` counts the sent requests. Raises RuntimeError if the broker closes a
    connection.
    """
    with tempfile.NamedTemporaryFile(prefix="ottla-bench-plan-") as plan:
        plan.write(_plan(targets))
        plan.flush()
        numbers = (seconds, depth, int(answered), most)
        process = subprocess.Popen(
            [str(compiled(SOURCE)), plan.name, *map(str, numbers)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            output, error_text = process.communicate(timeout=seconds + END_S)
        finally:
            process.kill()  # after an interrupt
            process.wait()
    if process.returncode:
        raise RuntimeError(error_text.decode().strip() or "the replayer was killed")
    line, _, binary = output.partition(b"\n")
    answers, received, spent, cpu = line.split()
    nanoseconds = array.array("I", binary)
    trips = [trip * 1e-9 for trip in nanoseconds]
    return Replayed(int(answers), int(received), float(spent), float(cpu), trips)


def _plan(targets: Sequence[ReplayedConnection]) -> bytes:
    """Encode the targets and their frames for the replayer's program."""
    parts = [pack("=I", len(targets))]
    for target in targets:
        parts.append(pack("=II", target.port, len(target.frames)))
        for frame in target.frames:
            parts += [pack("=I", len(frame)), frame]
    return b"".join(parts)
