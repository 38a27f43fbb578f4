"""Read-ahead of the modules that a start imports, if the page cache does not hold them.

After a boot, or on a machine short of memory, imports wait for the disk for one small file after
the other, though a disk can read many at once. So a thread asks the kernel for all files while the
first modules run. If they are cached, the thread would only slow the start, so the page cache is
probed first. Read-ahead is only a hint: the importer reads files that cannot be opened here.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

from broker.network.file_slice import is_cached
from ground import platform_calls

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = (
    "ground",
    "protocol",
    "protocol/frames",
    "protocol/messages",
    "storage",
    "storage/cleaning",
    "storage/log",
    "storage/directories",
    "controller",
    "controller/authorization",
    "controller/decisions",
    "controller/metadata",
    "controller/raft",
    "controller/requests",
    "broker",
    "broker/apis",
    "broker/apis/fetch",
    "broker/apis/produce",
    "broker/config",
    "broker/coordinator",
    "broker/groups",
    "broker/groups/classic",
    "broker/groups/consumer",
    "broker/groups/consumer/assignors",
    "broker/groups/consumer/state",
    "broker/groups/reconciliation",
    "broker/loop",
    "broker/network",
    "broker/network/limits",
    "broker/network/outgoing",
    "broker/network/server",
    "broker/node",
    "broker/node/control",
    "broker/node/metrics",
    "broker/node/preparation",
    "broker/node/security",
    "broker/process",
    "broker/purgatory",
    "broker/quotas",
    "broker/replication",
    "broker/requests",
    "broker/security",
    "broker/verification",
    "command",
    "command/help_pages",
)
"""The folders of most modules that a start imports."""
LARGE_EXTENSION = "uvloop"


def read_modules_ahead() -> threading.Thread | None:
    """Start a thread that reads modules ahead, and return it. Return None if the page cache has
    them, or cannot be probed."""
    probed_module = f"{ROOT}/broker/process/__pycache__/server{_compiled_ending()}"
    if not platform_calls.NO_WAIT or in_page_cache(probed_module):
        return None
    reader = threading.Thread(target=_ask_for_all, name="read-ahead", daemon=True)
    reader.start()
    return reader


def in_page_cache(path: str) -> bool:
    """Return whether the file seems to be in the page cache (`is_cached`), or does not exist.

    Probing a file that is not cached makes the kernel begin to read it.
    """
    try:
        with _opened(path) as file:
            return is_cached(file, 0, os.fstat(file).st_size)
    except OSError:
        return True


def _ask_for_all() -> None:
    """Ask the system to load the files of all modules that a start needs."""
    library = os.path.dirname(os.__file__)
    for path in _extension_files():
        _ask_for(path)
    for package in (f"{library}/asyncio", *(f"{ROOT}/{folder}" for folder in FOLDERS)):
        for path in _files(f"{package}/__pycache__", _compiled_ending()):
            _ask_for(path)


def _ask_for(path: str) -> None:
    """Ask the system to load the file; an error is ignored."""
    with contextlib.suppress(OSError), _opened(path) as file:
        platform_calls.ask_for_file(file)


def _extension_files() -> list[str]:
    """Return the paths of the large extension's libraries, or none if it is not installed."""
    for entry in sys.path:
        files = _files(f"{entry}/{LARGE_EXTENSION}", ".so")
        if files:
            return files
    return []


def _files(folder: str, ending: str) -> list[str]:
    """Return the files of a folder, or none if it cannot be read."""
    try:
        return [f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(ending)]
    except OSError:
        return []


def _compiled_ending() -> str:
    """Return the end of the names of this Python's compiled modules."""
    return f".{sys.implementation.cache_tag}.pyc"


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    """Open a file for reading, yield its descriptor, and close it at the end."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)
