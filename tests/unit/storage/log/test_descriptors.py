"""How many descriptors logs hold is counted where the system counts them."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ground.filesystem import LocalFilesystem
from ground.sim_scheduler import SimScheduler
from ground.topic_partition import TopicPartition
from storage.log.closed_files import ClosedFiles
from storage.log.descriptors import (
    CLOSED_FILES_MIN,
    CONNECTIONS_MIN,
    DESCRIPTORS_PER_LOG,
    MOVES_MIN,
    OWN_USE,
    Descriptors,
    default_reserve,
)
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import Jobs, append, read_all

LOGS, SEGMENTS = 3, 4
PROMISED = OWN_USE + CLOSED_FILES_MIN + MOVES_MIN


@pytest.fixture
def no_collector() -> Iterator[None]:
    """What is given back is given back at once."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def open_in(folder: Path) -> int:
    """Descriptors of this process that lead into `folder`."""
    count = 0
    for number in os.listdir("/proc/self/fd"):
        try:
            count += os.readlink(f"/proc/self/fd/{number}").startswith(str(folder))
        except OSError:  # that of the listing itself
            continue
    return count


def ports(descriptors: Descriptors) -> LogEnvironment:
    return LogEnvironment(
        LocalFilesystem(),
        SimScheduler(),
        Jobs(),
        LogDirFailureChannel(),
        descriptors=descriptors,
    )


def opened(folder: Path, environment: LogEnvironment, number: int, **how: object) -> UnifiedLog:
    directory = folder / f"topic-{number}"
    directory.mkdir(exist_ok=True)
    config = LogConfig(segment_bytes=1000, file_delete_delay_ms=0)
    partition = TopicPartition("topic", number)
    return UnifiedLog(
        environment,
        str(folder),
        str(directory),
        partition,
        config,
        **how,  # type: ignore[arg-type]
    )


def rolled(log: UnifiedLog) -> None:
    while len(log.segments.base_offsets) < SEGMENTS:
        append(log)


@pytest.mark.usefixtures("no_collector")
def test_a_log_holds_one_descriptor_and_old_segments_what_there_is_room_for(
    tmp_path: Path,
) -> None:
    descriptors = Descriptors()
    room = 5
    descriptors.closed_files.room = lambda: room
    environment = ports(descriptors)
    logs = [opened(tmp_path, environment, number) for number in range(LOGS)]
    assert open_in(tmp_path) == LOGS * DESCRIPTORS_PER_LOG
    for log in logs:
        rolled(log)
    assert open_in(tmp_path) == LOGS * DESCRIPTORS_PER_LOG + room
    before = [read_all(log) for log in logs]
    assert open_in(tmp_path) <= LOGS * DESCRIPTORS_PER_LOG + room
    for log in logs:
        log.close()
    descriptors.closed_files.close_excess(0)
    assert open_in(tmp_path) == 0
    for clean in (True, False):
        again = [opened(tmp_path, environment, number, clean=clean) for number in range(LOGS)]
        assert open_in(tmp_path) == LOGS * DESCRIPTORS_PER_LOG
        assert [read_all(log) for log in again] == before
        for log in again:
            log.close()
    logs = [opened(tmp_path, environment, number) for number in range(LOGS)]
    for log in logs:
        log.rename(f"{log.directory}-delete")
        log.retire()
    assert open_in(tmp_path) == 0


@pytest.mark.usefixtures("no_collector")
def test_a_slice_that_is_being_sent_outlives_its_log(tmp_path: Path) -> None:
    log = opened(tmp_path, ports(Descriptors()), 0)
    rolled(log)
    slices = [log.read(offset, 1 << 20).records for offset in (0, log.log_end_offset - 1)]
    log.rename(f"{log.directory}-delete")
    log.retire()
    assert open_in(tmp_path) == 2
    assert all(len(one.read()) for one in slices)  # type: ignore[union-attr]
    del slices
    assert open_in(tmp_path) == 0


def test_what_partitions_may_have_is_what_nobody_else_is_promised() -> None:
    descriptors = Descriptors(512)
    assert descriptors.reserved == PROMISED + CONNECTIONS_MIN == 240
    assert descriptors.logs_max == 272
    # Connections beyond the reserve have taken what partitions did not use.
    descriptors.count_connections(lambda: 200)
    assert descriptors.logs_max == 512 - PROMISED - 200
    descriptors.count_connections(lambda: 1_000)
    assert descriptors.logs_max == 0


def test_connections_have_what_partitions_leave_and_old_segments_the_rest() -> None:
    descriptors = Descriptors(512)
    assert descriptors.connections_max == 512 - PROMISED
    assert descriptors.closed_files.room() == 512 - OWN_USE
    descriptors.count_logs(lambda: 272, lambda: 0)
    assert descriptors.connections_max == CONNECTIONS_MIN
    assert descriptors.closed_files.room() == 512 - OWN_USE - 272
    descriptors.count_connections(lambda: 50)
    assert descriptors.closed_files.room() == 512 - OWN_USE - 272 - 100
    descriptors.count_connections(lambda: 128)
    assert descriptors.closed_files.room() == CLOSED_FILES_MIN


def test_without_a_limit_nothing_is_counted() -> None:
    assert isinstance(Descriptors().closed_files, ClosedFiles)
    assert Descriptors().logs_max > 2**30


def test_a_quarter_is_kept_for_connections_where_there_is_more() -> None:
    assert default_reserve(20_000) == PROMISED + 5_000
    assert Descriptors(20_000, lambda _limit: 300).logs_max == 19_700


@pytest.mark.parametrize("reserve", [default_reserve, lambda _limit: 300])
@pytest.mark.parametrize("logs", [0, 1, 272, 273, 1_500, 10_001, 999_999])
def test_the_limit_that_is_asked_for_is_enough_and_no_larger(
    logs: int, reserve: Callable[[int], int]
) -> None:
    limit = Descriptors(512, reserve).limit_for(logs)
    assert Descriptors(limit, reserve).logs_max >= logs
    assert not logs or Descriptors(limit - 1, reserve).logs_max < logs


def test_moves_have_a_share_of_their_own_and_then_that_of_partitions() -> None:
    descriptors = Descriptors(512)
    logs, moves = 272, 0
    descriptors.count_logs(lambda: logs, lambda: moves)
    assert descriptors.has_room_for_move and not descriptors.has_room
    moves = MOVES_MIN
    assert not descriptors.has_room_for_move
    logs = 270
    assert descriptors.has_room_for_move and descriptors.has_room
    moves = MOVES_MIN + 2
    assert descriptors.logs_max == 270
    assert not descriptors.has_room_for_move and not descriptors.has_room
    assert descriptors.limit_for(logs, moves) == 512
