"""Jobs in the pool for blocking work."""

from __future__ import annotations

from storage.cleaning.inline_cleaner import InlineRunner
from tests.unit.storage.cleaning_fixture import Bench


def test_a_job_runs_on_the_port_and_tells_its_end() -> None:
    bench = Bench()
    bench.write((b"k", b"1"))
    bench.write((b"k", b"2"))
    bench.roll()
    bench.cleaner.look()
    job, done = bench.runner.waiting.pop()
    runner = InlineRunner(bench.ports)
    runner.submit(job, done)
    assert [value for _, _, value in bench.left()] == [b"2"]
    runner.cancel(job.directory)
    runner.stop()
