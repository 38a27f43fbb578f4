"""Small files beside a table or a checkpoint, on each file system that Spark writes to.

A path without a scheme, or with `file:`, is on a disk of this machine (on a cluster, on a shared
disk), which Python reads and writes: a rename puts a complete file in place. All other paths
(`s3a://`, `hdfs://`, `abfss://`) go through Spark's own reader and writer, with Spark's
credentials, and so through Spark Connect too: there, a small file is a folder with one text. Spark
has no call to rename or delete a file: there nothing is moved, unused files stay, and only one job
at a time may write. Owns nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from pipeline.errors import PipelineError
from pipeline.options import as_spark_has_it, exactly, is_local, local

_BEFORE_PATH = re.compile(r"^[a-zA-Z0-9+.-]+:(//[^/]*)?")


class Files:
    """A folder and the files below; names are relative to the folder, with slashes."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.root = as_spark_has_it(root).rstrip("/") or "/"
        self._spark = spark
        self._local = local(self.root) if is_local(self.root) else None

    @property
    def is_local(self) -> bool:
        """Whether the folder is on this machine; only then files are moved and deleted."""
        return self._local is not None

    def exists(self, name: str = "") -> bool:
        """Return whether a file or folder of this name exists."""
        if self._local is not None:
            return (self._local / name).exists()
        return self._listed(name) is not None

    def names(self, folder: str = "") -> list[str]:
        """Return the names directly in a folder, sorted, without names that begin with a dot.
        Return no names if the folder does not exist."""
        if self._local is not None:
            there = self._local / folder
            names = (path.name for path in there.iterdir()) if there.is_dir() else iter(())
            return sorted(name for name in names if not name.startswith("."))
        # By a pattern, because Spark hides names with _ or . only below the paths that it gets.
        below = self._listed(folder, "/*") or []
        return sorted({path.partition("/")[0] for path in self._relative(below, folder)})

    def files_below(self, folder: str) -> list[str]:
        """Return every file at any depth, relative to `folder`, sorted, without Hadoop's
        checksums."""
        if self._local is not None:
            top = self._local / folder
            files = (file for file in top.rglob("*") if file.is_file() and not _is_checksum(file))
            return sorted(file.relative_to(top).as_posix() for file in files)
        return sorted(self._relative(self._listed(folder) or [], folder))

    def read_json(self, name: str) -> Any:
        """Return a file's content. Raises FileNotFoundError if there is no file."""
        if self._local is not None:
            return json.loads((self._local / name).read_text("utf-8"))
        try:
            rows = self._spark.read.text(exactly(self._path(name))).collect()
        except AnalysisException as error:
            raise FileNotFoundError(self._path(name)) from error
        return json.loads("".join(row.value for row in rows))

    def read_all_json(self, folder: str) -> list[Any]:
        """Return the content of each `*.json` directly in a folder, in the order of their names."""
        if self._local is not None:
            names = [name for name in self.names(folder) if name.endswith(".json")]
            return [self.read_json(f"{folder}/{name}") for name in names]
        reader = self._spark.read.option("wholetext", "true")
        try:
            contents = reader.text(f"{exactly(self._path(folder))}/*.json")
            rows = contents.select("_metadata.file_path", "value").collect()
        except AnalysisException as error:
            if "PATH_NOT_FOUND" not in str(error):
                raise
            return []
        texts = {_BEFORE_PATH.sub("", row.file_path): row.value for row in rows}
        return [json.loads(texts[path]) for path in sorted(texts)]

    def write_json(self, name: str, content: Any) -> None:
        """Put a complete file in place. Raises FileExistsError if the file exists already."""
        if self._local is not None:
            _put(self._local / name, json.dumps(content, indent=1) + "\n")
            return
        frame = self._spark.createDataFrame([(json.dumps(content),)], "value STRING").coalesce(1)
        try:
            frame.write.mode("error").text(self._path(name))
        except AnalysisException as error:
            if self._listed(name):
                raise FileExistsError(self._path(name)) from error
            # A killed writer left its folder without a file.
            frame.write.mode("overwrite").text(self._path(name))

    def check_seen_by_spark(self, name: str) -> None:
        """Raise PipelineError if the Spark of a cluster or server does not see a file of this
        machine."""
        if self._local is None:
            return
        try:
            seen = bool(self._spark.read.text(exactly(self._path(name))).take(1))
        except PySparkException:
            seen = False
        if not seen:
            raise PipelineError(
                f"Spark does not see {self._path(name)}, which was just written here: on a cluster "
                "or behind Spark Connect name a folder that its machines share, or an object store"
            )

    def move(self, source: str, target: str) -> None:
        """Rename a file of this machine, and make the folders of `target`."""
        assert self._local is not None, "Spark renames nothing"
        _move(self._local / source, self._local / target)

    def delete(self, name: str) -> None:
        """Delete a file or a folder of this machine, if it exists. Do nothing off a local disk."""
        if self._local is None:
            return
        there = self._local / name
        if there.is_dir():
            shutil.rmtree(there)
        else:
            there.unlink(missing_ok=True)
            _checksum(there).unlink(missing_ok=True)

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root

    def _listed(self, name: str, pattern: str = "") -> list[str] | None:
        """Return the files at and below a path, or those that fit a pattern below the path, as
        Spark lists them; None if there are none."""
        reader = self._spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        try:
            rows = reader.load(exactly(self._path(name)) + pattern).select("path").collect()
        except AnalysisException as error:
            if "PATH_NOT_FOUND" not in str(error):
                raise
            return None
        return [_BEFORE_PATH.sub("", row.path) for row in rows]

    def _relative(self, paths: list[str], folder: str) -> list[str]:
        top = _BEFORE_PATH.sub("", self._path(folder)).rstrip("/") + "/"
        return [path.removeprefix(top) for path in paths]


def _put(file: Path, text: str) -> None:
    """Write and sync a file beside its place, then link the file there, so that of two writers only
    one succeeds. Raises FileExistsError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    half = file.with_name(f".{file.name}.half-{os.getpid()}")
    with half.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    try:
        try:
            os.link(half, file)
        except (NotImplementedError, PermissionError):  # a file system without hard links
            if file.exists():
                raise FileExistsError(file) from None
            os.rename(half, file)
    finally:
        half.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        _sync(file.parent)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _checksum(file: Path) -> Path:
    """Return the path at which Hadoop keeps the checksum of a local file."""
    return file.with_name(f".{file.name}.crc")


def _is_checksum(file: Path) -> bool:
    return file.name.startswith(".") and file.name.endswith(".crc")


def _move(source: Path, target: Path) -> None:
    os.makedirs(target.parent, exist_ok=True)
    # The checksum is removed first and put in place last: a file without a checksum is good, a
    # file with another file's checksum is not.
    _checksum(target).unlink(missing_ok=True)
    os.rename(source, target)
    if _checksum(source).exists():
        os.rename(_checksum(source), _checksum(target))
