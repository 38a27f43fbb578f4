"""The end of a chaos run: everything read from its start by a fresh client, committed or all.

Before that, every transaction has ended or timed out: the last stable offset of each key has to
reach its high watermark.
"""

from __future__ import annotations

import asyncio
import time

from protocol.errors import ErrorCode
from tests.chaos.facts import Anomaly
from tests.chaos.history import Final, Stable
from tests.chaos.raw_client import COMMITTED, UNCOMMITTED, Hung, NotSent, RawClient, read_of
from tests.chaos.workload import Shared

READ_S = 90.0
SWEEP_S = 90.0
"""So long after its time-out a transaction has to be over."""


async def read_everything(
    client: RawClient, shared: Shared, transaction_timeout_s: float
) -> list[Anomaly]:
    """Adds `Stable` and `Final` events; what could not be read."""
    unread: list[Anomaly] = []
    deadline = time.monotonic() + transaction_timeout_s + SWEEP_S
    for key in shared.keys:
        if stable := await _until_stable(client, key, deadline):
            shared.history.add(stable)
    shared.stable_at = time.monotonic()
    for key in shared.keys:
        for isolation in (UNCOMMITTED, COMMITTED):
            try:
                async with asyncio.timeout(READ_S):
                    records = await _read_all(client, key, isolation)
            except TimeoutError:
                unread.append(Anomaly("not-healed", f"{key} cannot be read to its end"))
                continue
            shared.history.add(Final(key, records, isolation == COMMITTED))
    return unread


async def _until_stable(client: RawClient, key: str, deadline: float) -> Stable | None:
    """Both offsets once they are the same, or at the deadline."""
    last: Stable | None = None
    while True:
        try:
            leader, _ = client.leaders.get(key, (-1, -1))
            stable = await client.end_offset(leader, key, COMMITTED)
            high = await client.end_offset(leader, key)
            if stable is not None and high is not None:
                last = Stable(key, stable, high)
                if stable >= high:
                    return last
        except (NotSent, Hung):
            pass
        if time.monotonic() > deadline:
            return last
        await asyncio.sleep(0.3)
        await client.metadata()


async def _read_all(client: RawClient, key: str, isolation: int) -> list[tuple[int, int]]:
    records: list[tuple[int, int]] = []
    end: int | None = None
    position = 0
    while end is None or position < end:
        leader, epoch = client.leaders.get(key, (-1, -1))
        try:
            if end is None:
                end = await client.end_offset(leader, key, isolation)
                if end is None:
                    raise Hung("no end offset yet")
                continue
            data = await client.fetch(leader, key, position, epoch, isolation)
            if data.error_code:
                raise Hung(ErrorCode(data.error_code).name)
        except (NotSent, Hung):
            await asyncio.sleep(0.2)
            await client.metadata()
            continue
        found, position = read_of(data, position)
        records += found
    return records
