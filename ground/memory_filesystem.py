"""A file system in memory that loses unsynced data, tears writes, and fails on demand.

A process can end in two ways. `kill()` is the death of the process: written bytes survive.
`lose_power(random)` is the loss of power: each file keeps what was fsynced and a random prefix of
the later writes, the last of which is torn. Each folder keeps what was fsynced and a random prefix
of the later changes of names. After either, the handles that were opened before can no longer be
used.

Faults: `inject(operation, errno, …)` makes the n-th matching call fail; `capacity_bytes` fills the
disk; `die_at` raises `Died` instead of the n-th call that changes something, to enumerate the crash
states of an update protocol.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ground.filesystem import BytesLike, VolumeUsage


class Died(BaseException):
    """The death of the process; its code must not catch this."""


@dataclass
class _Inode:
    """The bytes of a file: current, synced, and the writes since the last sync."""

    data: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    unsynced: list[tuple[int, bytes] | int] = field(default_factory=list)
    modified_ms: int = 0

    def sync(self) -> None:
        """Make the current bytes survive a power failure."""
        self.synced = bytes(self.data)
        self.unsynced.clear()


@dataclass
class _Folder:
    """The names in a folder: current, synced, and the changes since the last sync."""

    names: dict[str, _Inode | _Folder] = field(default_factory=dict)
    synced: dict[str, _Inode | _Folder] = field(default_factory=dict)
    unsynced: list[dict[str, _Inode | _Folder | None]] = field(default_factory=list)

    def change(self, changes: dict[str, _Inode | _Folder | None]) -> None:
        """Change the names now; a power failure may lose all changes of this call together. None
        removes a name."""
        self.unsynced.append(changes)
        _apply_changes(self.names, changes)

    def sync(self) -> None:
        """Make the current names survive a power failure, but not the bytes of their files."""
        self.synced = dict(self.names)
        self.unsynced.clear()


def _apply_changes(
    names: dict[str, _Inode | _Folder], changes: dict[str, _Inode | _Folder | None]
) -> None:
    """Set the changed names in `names`, and remove those with None."""
    for name, node in changes.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


@dataclass
class _Fault:
    operation: str
    number: int
    path_part: str
    skip: int
    count: int


class MemoryFile:
    """An open file in memory."""

    def __init__(self, filesystem: MemoryFilesystem, path: str, inode: _Inode) -> None:
        self._filesystem = filesystem
        self._inode = inode
        self._life = filesystem.life
        self.path = path

    @property
    def size(self) -> int:
        return len(self._inode.data)

    def append_parts(self, parts: Sequence[BytesLike]) -> None:
        """Append the joined parts by one `append`."""
        self.append(b"".join(parts))

    def append(self, data: BytesLike) -> None:
        """Append `data` as an unsynced write. If the process dies by this call, append only the
        fraction `torn` of it, then raise Died.

        Raises OSError for an injected fault, a full disk, and a handle of an earlier process.
        """
        whole = bytes(data)
        try:
            self._check("append")
        except Died:
            self._write(whole[: int(len(whole) * self._filesystem.torn)], len(self._inode.data))
            raise
        self._filesystem.check_room(len(whole), self.path)
        self._write(whole, len(self._inode.data))

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to `size` bytes from `offset`. Raises an injected fault."""
        self._check("pread", changes=False)
        return bytes(self._inode.data[offset : offset + size])

    def write_at(self, data: BytesLike, offset: int) -> None:
        """Write `data` at `offset` as an unsynced write. The capacity of the disk is not
        checked."""
        self._check("write_at")
        self._write(bytes(data), offset)

    def _write(self, data: bytes, offset: int) -> None:
        """Change the bytes at `offset`, record the write as unsynced, and set the time of
        modification."""
        inode = self._inode
        inode.data[offset : offset + len(data)] = data
        inode.unsynced.append((offset, data))
        inode.modified_ms = self._filesystem.now_ms()

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes, as an unsynced change."""
        self._check("truncate")
        del self._inode.data[size:]
        self._inode.unsynced.append(size)

    def sync(self) -> None:
        """Make the current bytes survive a power failure. Raises an injected fault."""
        self._check("sync")
        self._inode.sync()

    def write_back(self, offset: int, size: int) -> None:
        """Raise an injected fault. Otherwise do nothing: the bytes stay unsynced."""
        self._check("write_back", changes=False)

    def give_back_room(self) -> None:
        """Raise an injected fault. Otherwise do nothing: a file in memory has no blocks."""
        self._check("give_back_room", changes=False)

    def close(self) -> None:
        """Do nothing: the handle can still be used afterwards."""
        return

    def fileno(self) -> int:
        """Raise OSError: a file in memory has no descriptor."""
        raise OSError(errno.EBADF, "a file in memory has no descriptor", self.path)

    def _check(self, operation: str, *, changes: bool = True) -> None:
        """Count the call, and raise the death or the fault that is planned for it. Raises EBADF if
        the process that opened the file has died."""
        if self._life != self._filesystem.life:
            raise OSError(errno.EBADF, "the process that opened it is dead", self.path)
        self._filesystem.check(operation, self.path, changes=changes)


class MemoryLock:
    """A lock that is released when its process ends."""

    def __init__(self, filesystem: MemoryFilesystem, locks: dict[str, int], path: str) -> None:
        """Represent the lock of `path`; `locks` is the file system's table of held locks."""
        self._filesystem = filesystem
        self._locks = locks
        self._path = path

    def release(self) -> None:
        self._locks.pop(self._path, None)

    def sync_volume(self) -> bool:
        """Make all data of the file system durable, and return True; False if the simulated system
        has no such call."""
        return self._filesystem.sync_volume(self._path)


class MemoryFilesystem:
    """The file system in memory. Paths are absolute; "/" exists."""

    def __init__(self, now_ms: Callable[[], int] | None = None) -> None:
        """Create an empty file system. `now_ms()` returns the time for modified files; None: always
        0."""
        self.now_ms = now_ms or (lambda: 0)
        self.life = 0
        self.capacity_bytes: int | None = None
        self.changes = 0
        self.die_at: int | None = None
        self.can_sync_volumes = True
        """Whether `sync_volume` works; False simulates a system without that call."""
        self.torn = 0.0
        """The fraction of an append, from 0 to 1, that is written if the process dies during it."""
        self.calls: list[tuple[str, str]] = []
        self._root = _Folder()
        self._faults: list[_Fault] = []
        self._locks: dict[str, int] = {}

    # ---- faults --------------------------------------------------------------------------------

    def inject(
        self,
        operation: str,
        number: int = errno.EIO,
        *,
        path_part: str = "",
        skip: int = 0,
        count: int = 1,
    ) -> None:
        """Let `count` matching calls raise OSError with errno `number`, after `skip` calls that
        succeed. A call matches if its path contains `path_part`.

        Operations are the methods' names: append, pread, sync, truncate, open, read, replace,
        rename, remove, sync_dir …
        """
        self._faults.append(_Fault(operation, number, path_part, skip, count))

    def die_in(self, changes: int, torn: float = 0.0) -> None:
        """Let the process die: after `changes` more changes, the next raises Died. `torn` is the
        fraction of an append, from 0 to 1, that is still written then."""
        self.die_at = self.changes + changes
        self.torn = torn

    def live_on(self) -> None:
        """Cancel `die_in`: the process does not die."""
        self.die_at = None

    def limit(self, capacity_bytes: int | None) -> None:
        """Set the capacity of the disk; None: unlimited."""
        self.capacity_bytes = capacity_bytes

    def check(self, operation: str, path: str, *, changes: bool = True) -> None:
        """Raise `Died` if the process is to die at this change, or `OSError` if an injected fault
        matches. A call with `changes` is counted, and added to `calls`."""
        if changes:
            if self.die_at is not None and self.changes >= self.die_at:
                raise Died(f"{operation} {path}")
            self.changes += 1
            self.calls.append((operation, path))
        for fault in self._faults:
            if fault.operation != operation or fault.path_part not in path or not fault.count:
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            fault.count -= 1
            raise OSError(fault.number, os.strerror(fault.number), path)

    def check_room(self, size: int, path: str) -> None:
        """Raise ENOSPC if `size` more bytes exceed the capacity. No space is reserved."""
        if self.capacity_bytes is not None and self.used_bytes() + size > self.capacity_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    def used_bytes(self) -> int:
        """Return the number of bytes in all files."""
        return sum(len(inode.data) for inode in _files(self._root))

    # ---- ends of a process ---------------------------------------------------------------------

    @property
    def is_dead(self) -> bool:
        """Whether all changes before `die_at` are made: the next change raises Died."""
        return self.die_at is not None and self.changes >= self.die_at

    @property
    def faults_left(self) -> bool:
        """Whether a fault that was injected has not happened yet."""
        return any(fault.count for fault in self._faults)

    def heal(self) -> None:
        """Remove all injected faults."""
        self._faults.clear()

    def files(self) -> list[tuple[str, bytes]]:
        """Return the path and contents of each file, sorted by path."""
        return _contents_by_path(self._root, "")

    def kill(self) -> None:
        """End the process: written data stays, locks are released, and open handles can no longer
        be used. Injected faults and a planned death are cancelled."""
        self.life += 1
        self._locks.clear()
        self.die_at = None
        self._faults.clear()

    def lose_power(self, chance: random.Random) -> None:
        """End the process as `kill` does; each file and folder keeps a random prefix of its
        unsynced changes."""
        self.kill()
        _forget_names(self._root, chance)
        for inode in _files(self._root):
            _forget_bytes(inode, chance)

    def clone(self) -> MemoryFilesystem:
        """Return a copy of the disk, without locks and faults, so that a test can end the process
        in several ways from one state."""
        twin = MemoryFilesystem(self.now_ms)
        nodes: dict[int, _Inode | _Folder] = {}
        twin._root = _copy_folder(self._root, nodes)
        twin.capacity_bytes = self.capacity_bytes
        return twin

    # ---- Filesystem ----------------------------------------------------------------------------

    def open(self, path: str, *, create: bool = False) -> MemoryFile:
        """Open a file; `create` makes it if it is missing. Raises FileNotFoundError,
        IsADirectoryError, or an injected fault."""
        folder, name = self._parent(path)
        node = folder.names.get(name)
        if node is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "No such file", path)
            self.check("open", path)
            node = _Inode(modified_ms=self.now_ms())
            folder.change({name: node})
        else:
            self.check("open", path, changes=False)
        if isinstance(node, _Folder):
            raise IsADirectoryError(errno.EISDIR, "Is a directory", path)
        return MemoryFile(self, path, node)

    def make_with_room(self, path: str, size: int) -> None:
        """Create an empty file in place of an existing one, if the disk has `size` bytes left. No
        space is reserved. Raises OSError."""
        self.check("make_with_room", path)
        self.check_room(size, path)  # room is checked, not reserved
        folder, name = self._parent(path)
        folder.change({name: _Inode(modified_ms=self.now_ms())})

    def read(self, path: str) -> bytes:
        self.check("read", path, changes=False)
        return bytes(self._file(path).data)

    def replace_atomically(self, path: str, data: BytesLike, *, sync: bool = True) -> None:
        """Write `data` to `path.tmp`, and rename that to `path`. With `sync`, sync the file before
        the rename, and the folder after it. Each step may raise an injected fault or Died."""
        self.check("replace", path)
        self.check_room(len(data), path)
        folder, name = self._parent(path)
        temporary = name + ".tmp"
        inode = _Inode(modified_ms=self.now_ms())
        folder.change({temporary: inode})
        file = MemoryFile(self, path + ".tmp", inode)
        file.append(data)
        if sync:
            file.sync()
        self.check("rename", path)
        folder.change({temporary: None, name: inode})
        if sync:
            self.sync_dir(path.rpartition("/")[0])

    def rename(self, source: str, target: str) -> None:
        """Rename a file or folder, and replace one at `target`. Between two folders, a power
        failure may lose the change of only one of them. Raises FileNotFoundError."""
        self.check("rename", source)
        from_folder, from_name = self._parent(source)
        to_folder, to_name = self._parent(target)
        node = from_folder.names.get(from_name)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "No such file", source)
        if from_folder is to_folder:
            from_folder.change({from_name: None, to_name: node})
        else:
            to_folder.change({to_name: node})
            from_folder.change({from_name: None})

    def remove(self, path: str) -> None:
        """Remove a name; a missing file or folder is no error."""
        if not self.exists(path):  # a missing folder is no error either
            return
        folder, name = self._parent(path)
        if name in folder.names:
            self.check("remove", path)
            folder.change({name: None})

    def remove_tree(self, path: str) -> None:
        """Remove a file, or a folder with all its contents, as one change. A missing one is no
        error."""
        if self.exists(path):
            self.check("remove_tree", path)
            folder, name = self._parent(path)
            folder.change({name: None})

    def list_dir(self, path: str) -> list[str]:
        """Return the sorted names in a folder. Raises FileNotFoundError."""
        self.check("list_dir", path, changes=False)
        return sorted(self._folder(path).names)

    def make_dirs(self, path: str) -> None:
        """Create a folder and its parents if they are missing. Raises NotADirectoryError if one is
        a file."""
        folder = self._root
        for name in _parts(path):
            node = folder.names.get(name)
            if node is None:
                self.check("make_dirs", path)
                node = _Folder()
                folder.change({name: node})
            if not isinstance(node, _Folder):
                raise NotADirectoryError(errno.ENOTDIR, "Not a directory", path)
            folder = node

    def exists(self, path: str) -> bool:
        return self._node(path) is not None

    def is_dir(self, path: str) -> bool:
        return isinstance(self._node(path), _Folder)

    def real_path(self, path: str) -> str:
        """Return `path` without empty parts and `.`; this file system has no links."""
        return "/" + "/".join(part for part in _parts(path) if part != ".")

    def size(self, path: str) -> int:
        return len(self._file(path).data)

    def modified_ms(self, path: str) -> int:
        return self._file(path).modified_ms

    def sync_dir(self, path: str) -> None:
        """Make the current names in a folder survive a power failure, but not the bytes of their
        files."""
        self.check("sync_dir", path)
        self._folder(path).sync()

    def sync_volume(self, path: str) -> bool:
        """Make all data of this file system durable, and return True; False if the system has no
        such call. `path` is that of a lock, for `inject`."""
        if not self.can_sync_volumes:
            return False
        self.check("sync_volume", path)
        for inode in _files(self._root):
            inode.sync()
        for folder in _folders(self._root):
            folder.sync()
        return True

    def lock(self, path: str) -> MemoryLock | None:
        """Lock a file, which is created if it is missing. Return None if it is locked, also by this
        process."""
        if path in self._locks:
            return None
        self.open(path, create=True)
        self._locks[path] = self.life
        return MemoryLock(self, self._locks, path)

    def usage(self, path: str) -> VolumeUsage:
        """Return the capacity, 2^40 bytes if it is unlimited, and the part of it that no file
        uses."""
        self.check("usage", path, changes=False)
        total = self.capacity_bytes or 2**40
        return VolumeUsage(total, total - self.used_bytes())

    # ---- the tree ------------------------------------------------------------------------------

    def _node(self, path: str) -> _Inode | _Folder | None:
        """Return the file or folder at `path`, None if there is none."""
        node: _Inode | _Folder | None = self._root
        for name in _parts(path):
            if not isinstance(node, _Folder):
                return None
            node = node.names.get(name)
        return node

    def _file(self, path: str) -> _Inode:
        """Return the file at `path`. Raises FileNotFoundError if it is missing or a folder."""
        node = self._node(path)
        if not isinstance(node, _Inode):
            raise FileNotFoundError(errno.ENOENT, "No such file", path)
        return node

    def _folder(self, path: str) -> _Folder:
        """Return the folder at `path`. Raises FileNotFoundError if it is missing or a file."""
        node = self._node(path)
        if not isinstance(node, _Folder):
            raise FileNotFoundError(errno.ENOENT, "No such directory", path)
        return node

    def _parent(self, path: str) -> tuple[_Folder, str]:
        """Return the folder that holds `path`, and the name in it. Raises FileNotFoundError if
        there is no such folder; the name may be missing."""
        parent, _, name = path.rpartition("/")
        return self._folder(parent), name


def _parts(path: str) -> list[str]:
    """Return the names in a path, without empty ones."""
    return [part for part in path.split("/") if part]


def _files(folder: _Folder) -> list[_Inode]:
    """Return all files in and below a folder; each is there once, even if it has several names."""
    inodes: dict[int, _Inode] = {}
    for node in folder.names.values():
        for inode in _files(node) if isinstance(node, _Folder) else [node]:
            inodes[id(inode)] = inode
    return list(inodes.values())


def _folders(folder: _Folder) -> list[_Folder]:
    """Return a folder and all folders below it."""
    below = [node for node in folder.names.values() if isinstance(node, _Folder)]
    return [folder, *(inner for node in below for inner in _folders(node))]


def _contents_by_path(folder: _Folder, path: str) -> list[tuple[str, bytes]]:
    """Return (path, current bytes) of each file in and below a folder that lies at `path`, sorted
    by name."""
    paths = []
    for name, node in sorted(folder.names.items()):
        if isinstance(node, _Folder):
            paths += _contents_by_path(node, f"{path}/{name}")
        else:
            paths.append((f"{path}/{name}", bytes(node.data)))
    return paths


def _forget_names(folder: _Folder, chance: random.Random) -> None:
    """Lose names as a power failure does: keep a random number of the unsynced changes, the oldest
    first, in this folder and all below it. The kept names count as synced."""
    kept = dict(folder.synced)
    for changes in folder.unsynced[: chance.randint(0, len(folder.unsynced))]:
        _apply_changes(kept, changes)
    folder.names, folder.synced, folder.unsynced = kept, dict(kept), []
    for node in kept.values():
        if isinstance(node, _Folder):
            _forget_names(node, chance)


def _forget_bytes(inode: _Inode, chance: random.Random) -> None:
    """Lose bytes as a power failure does: keep a random number of the unsynced writes, the oldest
    first, and perhaps a part of the next write. The kept bytes count as synced."""
    data = bytearray(inode.synced)
    kept = chance.randint(0, len(inode.unsynced))
    for write in inode.unsynced[:kept]:
        _redo(data, write)
    if kept < len(inode.unsynced):
        torn = inode.unsynced[kept]
        if isinstance(torn, tuple) and torn[1]:
            offset, written = torn
            part = bytearray(written[: chance.randint(0, len(written))])
            # the file's length reached the disk, but a page did not
            if part and chance.random() < 0.5:
                hole = chance.randrange(len(part))
                part[hole:] = bytes(len(part) - hole)
            _redo(data, (offset, bytes(part)))
    inode.data, inode.synced, inode.unsynced = data, bytes(data), []


def _redo(data: bytearray, write: tuple[int, bytes] | int) -> None:
    """Apply an unsynced write to `data`: (offset, bytes), or the size of a truncation. A gap is
    filled with zeros."""
    if isinstance(write, int):
        del data[write:]
        return
    offset, written = write
    if offset > len(data):
        data.extend(bytes(offset - len(data)))
    data[offset : offset + len(written)] = written


def _copy_folder(folder: _Folder, nodes: dict[int, _Inode | _Folder]) -> _Folder:
    """Return a deep copy of a folder. `nodes` maps the id of each copied file or folder to its
    copy, and gets those that are new."""
    twin = _Folder()
    nodes[id(folder)] = twin
    twin.names = _copy_names(folder.names, nodes)
    twin.synced = _copy_names(folder.synced, nodes)
    twin.unsynced = [
        {name: None if node is None else _copy_node(node, nodes) for name, node in changes.items()}
        for changes in folder.unsynced
    ]
    return twin


def _copy_names(
    names: dict[str, _Inode | _Folder], nodes: dict[int, _Inode | _Folder]
) -> dict[str, _Inode | _Folder]:
    """Return the names with copies of their files and folders, which `nodes` has or gets."""
    return {name: _copy_node(node, nodes) for name, node in names.items()}


def _copy_node(node: _Inode | _Folder, nodes: dict[int, _Inode | _Folder]) -> _Inode | _Folder:
    """Return the copy in `nodes` of a file or folder, which is made if it is missing."""
    if id(node) in nodes:
        return nodes[id(node)]
    if isinstance(node, _Folder):
        return _copy_folder(node, nodes)
    twin = _Inode(bytearray(node.data), node.synced, list(node.unsynced), node.modified_ms)
    nodes[id(node)] = twin
    return twin
