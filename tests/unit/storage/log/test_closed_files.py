import errno

import pytest

from ground.memory_filesystem import MemoryFilesystem
from storage.log.closed_files import ClosedFile, ClosedFiles


def closed(
    filesystem: MemoryFilesystem, files: ClosedFiles, name: str, data: bytes = b"abc"
) -> ClosedFile:
    filesystem.open(name, create=True).append(data)
    return ClosedFile(files, filesystem, name, len(data), None)


def test_no_more_are_open_than_there_is_room_for_and_the_last_read_stay() -> None:
    filesystem, files = MemoryFilesystem(), ClosedFiles(lambda: 2)
    one, two, three = (closed(filesystem, files, name) for name in "123")
    assert len(files) == 0
    assert [file.pread(3, 0) for file in (one, two, one, three)] == [b"abc"] * 4
    assert len(files) == 2
    assert [file.current is not None for file in (one, two, three)] == [True, False, True]
    assert two.pread(1, 2) == b"c"
    assert one.current is None


def test_what_is_being_sent_stays_open_and_is_shared() -> None:
    filesystem, room = MemoryFilesystem(), [3]
    files = ClosedFiles(lambda: room[0])
    one, two = closed(filesystem, files, "1"), closed(filesystem, files, "2")
    sent = one.opened()
    files.close_excess(0)
    assert one.current is None and len(files) == 1
    assert one.opened() is sent and len(files) == 1
    files.close_excess(0)
    room[0] = 1
    with pytest.raises(OSError, match="old segments") as failure:
        two.pread(1, 0)
    assert failure.value.errno == errno.EMFILE
    del sent
    assert len(files) == 0
    assert two.pread(1, 0) == b"a"


def test_one_that_is_active_again_is_nobody_elses_to_close() -> None:
    filesystem, files = MemoryFilesystem(), ClosedFiles()
    file = closed(filesystem, files, "1").detach()
    assert len(files) == 0
    files.close_excess(0)
    assert file.pread(3, 0) == b"abc"


def test_writing_goes_to_the_file_and_its_size_follows() -> None:
    filesystem, files = MemoryFilesystem(), ClosedFiles()
    file = closed(filesystem, files, "1")
    file.append(b"d")
    file.append_parts([b"e", b"f"])
    file.write_at(b"A", 0)
    assert (file.size, filesystem.read("1")) == (6, b"Abcdef")
    file.truncate(2)
    file.sync()
    file.write_back(0, 2)
    file.give_back_room()
    file.close()
    assert (file.size, filesystem.read("1"), len(files)) == (2, b"Ab", 0)
