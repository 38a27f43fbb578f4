"""The tests that check what Linux alone does, and why: not run where that is taken away.

By path and name of the function, which must exist (`tests/architecture/test_portable.py`).
"""

from __future__ import annotations

_CONGESTION = "TCP_CONGESTION"
_PAGE_CACHE = "RWF_NOWAIT, and files put out of the page cache by posix_fadvise"
_C_LIBRARY = "a call of Linux' C library"

SKIPPED = {
    "tests/unit/storage/cleaning/test_cleaner_worker.py::test_it_loads_none_of_the_broker": (
        "what takes the names away loads psutil, and that subprocess"
    ),
    "tests/unit/ground/test_platform_calls.py::test_a_range_is_handed_over_to_linux": _C_LIBRARY,
    "tests/unit/ground/test_platform_calls.py::test_blocks_are_allocated_by_linux": _C_LIBRARY,
    "tests/unit/testbed/faults/test_full_disk.py::"
    "test_blocks_are_allocated_once_there_is_room": "fallocate",
    "tests/unit/broker/process/test_data_folders.py::"
    "test_an_open_folder_stays_so_but_for_the_metadata": "fallocate, for one of its files",
    "tests/unit/broker/process/test_read_ahead.py::test_what_was_just_written_is_at_hand": (
        _PAGE_CACHE
    ),
    "tests/unit/broker/process/test_read_ahead.py::"
    "test_modules_out_of_the_page_cache_are_asked_for": _PAGE_CACHE,
    "tests/unit/broker/network/server/test_local_congestion.py::"
    "test_a_connection_keeps_its_own_where_the_system_has_no_such_algorithm": _CONGESTION,
    "tests/unit/broker/network/server/test_local_congestion.py::"
    "test_a_listener_that_does_not_pace_is_left_alone": _CONGESTION,
    "tests/unit/broker/network/server/test_local_congestion.py::"
    "test_connections_of_a_pacing_listener_begin_without_it": _CONGESTION,
    "tests/unit/broker/network/server/test_local_congestion.py::"
    "test_a_connection_is_given_what_the_system_has_chosen": _CONGESTION,
}
