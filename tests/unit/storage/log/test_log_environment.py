"""What logs share, and what the metadata log does not."""

from __future__ import annotations

from ground.memory_filesystem import MemoryFilesystem
from protocol.errors import ErrorCode
from storage.log_config import LogConfig
from tests.unit.storage.harness import append, environment, open_log, read_all


def test_a_log_apart_waits_for_no_descriptor_that_others_have_taken() -> None:
    shared = environment(MemoryFilesystem())
    shared.descriptors.closed_files.room = lambda: 0
    apart = shared.apart()
    assert (apart.filesystem, apart.failures) == (shared.filesystem, shared.failures)
    logs = [
        open_log(config=LogConfig(segment_bytes=500), ports=ports, directory=f"/data/{name}-0")
        for name, ports in (("shared", shared), ("apart", apart))
    ]
    for log in logs:
        append(log, times=20)
    assert logs[0].read(0, 1_000).error is ErrorCode.KAFKA_STORAGE_ERROR
    assert not logs[0].offline
    assert len(read_all(logs[1])) == logs[1].segments.size_bytes
