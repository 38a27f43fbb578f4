"""Small files beside a table or a checkpoint, on whatever file system Spark writes to.

Through Hadoop's FileSystem in Spark's JVM: a path may be local, `hdfs://` or an object store. Owns
nothing; a file is put in place whole, by a rename. (An object store has no atomic rename: there
only one job at a time may write a table.) Where the files are local, what is done for each of
thousands is done here: without native libraries Hadoop forks a process for each folder it makes.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


class Files:
    """A folder and what is below it; names are relative to it, with slashes."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.root = root.rstrip("/") or "/"
        self._jvm: Any = spark._jvm
        configuration = spark._jsc.hadoopConfiguration()
        self._fs: Any = self._path("").getFileSystem(configuration)
        self._local: Path | None = None
        if self._fs.getScheme() == "file":
            self._local = Path(self._fs.makeQualified(self._path("")).toUri().getPath())

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine."""
        return self._local is not None

    def exists(self, name: str = "") -> bool:
        """Whether there is a file or folder."""
        if self._local is not None:
            return (self._local / name).exists()
        return bool(self._fs.exists(self._path(name)))

    def names(self, folder: str = "") -> list[str]:
        """What lies directly in a folder, sorted; none where it does not exist."""
        if not self.exists(folder):
            return []
        return sorted(one.getPath().getName() for one in self._fs.listStatus(self._path(folder)))

    def files_below(self, folder: str) -> list[str]:
        """Every file at any depth, relative to `folder`, sorted; without Hadoop's checksums."""
        if self._local is not None:
            top = self._local / folder
            files = (one for one in top.rglob("*") if one.is_file() and not _is_checksum(one))
            return sorted(one.relative_to(top).as_posix() for one in files)
        found = []
        for one in self._fs.listStatus(self._path(folder)):
            name = one.getPath().getName()
            if one.isDirectory():
                found += [f"{name}/{below}" for below in self.files_below(f"{folder}/{name}")]
            else:
                found.append(name)
        return sorted(found)

    def read_json(self, name: str) -> Any:
        """A file's content."""
        stream = self._fs.open(self._path(name))
        try:
            text = self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
        finally:
            stream.close()
        return json.loads(text)

    def write_json(self, name: str, content: Any) -> None:
        """Put a file in place whole. FileExistsError where it is there already."""
        half = f"{name.rpartition('/')[0]}/.half-{name.rpartition('/')[2]}".lstrip("/")
        stream = self._fs.create(self._path(half), True)
        try:
            stream.write((json.dumps(content, indent=1) + "\n").encode())
            stream.hsync()
        finally:
            stream.close()
        if self.exists(name):
            self._fs.delete(self._path(half), False)
            raise FileExistsError(name)
        self.move(half, name)

    def move(self, source: str, target: str) -> None:
        """Rename a file; folders on the way are made."""
        if self._local is not None:
            _move(self._local / source, self._local / target)
            return
        parent = self._path(target).getParent()
        if not self._fs.exists(parent):
            self._fs.mkdirs(parent)
        if not self._fs.rename(self._path(source), self._path(target)):
            raise OSError(f"{self.root}/{source} could not be renamed to {target}")

    def delete(self, name: str) -> None:
        """A file or a whole folder; nothing where it does not exist."""
        self._fs.delete(self._path(name), True)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.root}/{name}" if name else self.root)


def _checksum(file: Path) -> Path:
    """Where Hadoop keeps the checksum of a local file."""
    return file.with_name(f".{file.name}.crc")


def _is_checksum(file: Path) -> bool:
    return file.name.startswith(".") and file.name.endswith(".crc")


def _move(source: Path, target: Path) -> None:
    os.makedirs(target.parent, exist_ok=True)
    # The checksum first goes away and comes last: a file without one is good, one with another's
    # is not.
    _checksum(target).unlink(missing_ok=True)
    os.rename(source, target)
    if _checksum(source).exists():
        os.rename(_checksum(source), _checksum(target))
