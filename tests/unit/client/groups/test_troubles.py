"""What holds up a share group, from one answer of the cluster."""

from __future__ import annotations

from client.core.deliveries import Delivered
from client.core.groups import SHARE, GroupDescription, MemberDescription
from client.groups.groups import Standing
from client.groups.troubles import ShareLimits, troubles

IDLE = GroupDescription("g", "Empty", [], SHARE)
BUSY = GroupDescription("g", "Stable", [MemberDescription("m", "/h", [("t", 0)])], SHARE)
LIMITS = ShareLimits(deliveries=5, locks=100)


def row(lag: int | None) -> Standing:
    return Standing("t", 0, 4, 10, lag, None, None)


def texts(*ranges: tuple[int, int, str, int | None]) -> list[str]:
    return troubles(BUSY, [row(9)], [Delivered("t", 0, *one) for one in ranges], LIMITS)


def test_records_wait_and_nothing_reads_them() -> None:
    assert troubles(IDLE, [row(6)], [], LIMITS) == ["6 records wait, and the group has no members"]
    assert troubles(IDLE, [row(1)], [], LIMITS) == ["1 record waits, and the group has no members"]
    assert troubles(IDLE, [row(0), row(None)], [], LIMITS) == []
    assert troubles(BUSY, [row(6)], [], LIMITS) == []


def test_records_before_their_last_delivery_and_on_their_way_to_the_dead_letters() -> None:
    assert texts((4, 4, "available", 3), (5, 7, "available", 4), (8, 8, "archiving", 5)) == [
        "t-0: offsets 5 to 7 had 4 of 5 deliveries: the next one is the last",
        "t-0: offset 8 not written to the dead letter topic yet",
    ]


def test_an_unfinished_record_stops_the_deliveries_if_the_window_is_full() -> None:
    finished = (5, 103, "acknowledged", 1)
    (text,) = texts((4, 4, "available", None), finished, (104, 110, "available", None))
    assert text.startswith("t-0: offset 4 is not finished, and share.partition.max.record.locks")
    assert texts((5, 5, "available", None), (6, 103, "acknowledged", 1)) == []
    assert texts(finished) == []
