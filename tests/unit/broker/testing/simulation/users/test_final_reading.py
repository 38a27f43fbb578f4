"""The last reading finds every record and every committed offset."""

from __future__ import annotations

from tests.unit.broker.testing.simulation.told import asked, started, write


def test_all_that_is_there_is_read() -> None:
    run = started()
    write(run, *(b"%d" % number for number in range(5)))
    offsets = [["t", 0, 4]]
    asked(run, "commit", group="g", offsets=offsets, member_id="", generation=-1)
    asked(run, "committed", group="never", topic="t", partition=0)
    reading = run.finish()
    assert [one[5] for one in reading.logs["t"][0]] == [b"0", b"1", b"2", b"3", b"4"]
    assert reading.offsets == {"g": [("t", 0, 4)]}
    ((place, log),) = reading.partitions.items()
    assert reading.names[place] == "t" and (log.start, log.end, len(log.records)) == (0, 5, 5)
