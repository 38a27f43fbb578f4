"""Names of files from `.cleaned` to their own; what a start makes of each state between."""

from __future__ import annotations

from ground.memory_filesystem import MemoryFilesystem
from storage.log.cleaned_group import CleanedGroup
from storage.log.segment_replacement import cleaned_names, remove_cleaned, settle_replacements
from tests.unit.storage.harness import keyed_batch

FOLDER = "/log"


def name(base: int, suffix: str) -> str:
    return f"{base:020d}{suffix}"


def disk_with(*names: str, holds: bytes = b"") -> MemoryFilesystem:
    disk = MemoryFilesystem()
    disk.make_dirs(FOLDER)
    for one in names:
        disk.open(f"{FOLDER}/{one}", create=True).append(holds)
    return disk


def settled(disk: MemoryFilesystem) -> list[str]:
    left = settle_replacements(disk, FOLDER, disk.list_dir(FOLDER))
    assert left == disk.list_dir(FOLDER)
    return left


def test_what_is_not_whole_goes_and_its_sources_stay() -> None:
    sources = [name(0, ".index"), name(0, ".log"), name(5, ".log")]
    disk = disk_with(*sources, name(0, ".log.cleaned"), name(0, ".index.swap"))
    assert settled(disk) == sources
    disk = disk_with(*sources, name(0, ".log.cleaned"), name(5, ".log.swap"))
    assert settled(disk) == sources


def test_a_whole_one_takes_the_place_of_what_it_covers() -> None:
    batch = bytes(keyed_batch((b"k", b"v"), (b"l", b"w")))
    disk = disk_with(name(0, ".log"), name(0, ".index"), name(1, ".log"), name(2, ".log"))
    for suffix in (".log.swap", ".index.swap"):
        disk.open(f"{FOLDER}/{name(0, suffix)}", create=True).append(batch)
    assert settled(disk) == [name(0, ".index"), name(0, ".log"), name(2, ".log")]
    assert disk.read(f"{FOLDER}/{name(0, '.log')}") == batch


def test_an_empty_one_replaces_its_first_source() -> None:
    disk = disk_with(name(3, ".log.swap"))
    disk.open(f"{FOLDER}/{name(3, '.log')}", create=True).append(b"old")
    assert settled(disk) == [name(3, ".log")]
    assert disk.read(f"{FOLDER}/{name(3, '.log')}") == b""


def test_side_files_follow_a_log_that_has_its_name_already() -> None:
    disk = disk_with(name(0, ".log"), name(0, ".index.swap"), name(7, ".log.cleaned"))
    assert settled(disk) == [name(0, ".index"), name(0, ".log")]


def test_only_what_is_waited_for_is_kept() -> None:
    groups = (CleanedGroup((4, 8), 0, -1, 4, (".index", ".log")),)
    wanted = [name(4, ".index.cleaned"), name(4, ".log.cleaned")]
    assert sorted(cleaned_names(groups)) == wanted
    disk = disk_with(*wanted, name(2, ".log.cleaned"), name(4, ".log"))
    remove_cleaned(disk, FOLDER, cleaned_names(groups))
    assert disk.list_dir(FOLDER) == sorted([*wanted, name(4, ".log")])
    remove_cleaned(disk, FOLDER)
    assert disk.list_dir(FOLDER) == [name(4, ".log")]
