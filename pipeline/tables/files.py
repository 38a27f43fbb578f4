"""Small files beside a table or a checkpoint, on whatever file system Spark writes to.

A path without a scheme, or with `file:`, is one of this machine's disks (on a cluster a shared
one), which Python reads and writes: a file is put in place whole, by a rename. Anything else
(`s3a://`, `hdfs://`, `abfss://`) goes through Spark's own reader and writer, with the access that
Spark has, and so through Spark Connect too: a small file is a folder of one text there. Spark has
no word for renaming and deleting: there nothing is moved, what is out of use stays, and only one
job at a time may write. Owns nothing.
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
    """A folder and what is below it; names are relative to it, with slashes."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.root = as_spark_has_it(root).rstrip("/") or "/"
        self._spark = spark
        self._local = local(self.root) if is_local(self.root) else None

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine: only there files are moved and deleted."""
        return self._local is not None

    def exists(self, name: str = "") -> bool:
        """Whether there is a file or folder."""
        if self._local is not None:
            return (self._local / name).exists()
        return self._listed(name) is not None

    def names(self, folder: str = "") -> list[str]:
        """What lies directly in a folder, sorted, but for names with a dot; none without it."""
        if self._local is not None:
            there = self._local / folder
            found = (one.name for one in there.iterdir()) if there.is_dir() else iter(())
            return sorted(one for one in found if not one.startswith("."))
        # By a pattern: what begins with _ or . is hidden from Spark only below what it is given.
        below = self._listed(folder, "/*") or []
        return sorted({one.partition("/")[0] for one in self._relative(below, folder)})

    def files_below(self, folder: str) -> list[str]:
        """Every file at any depth, relative to `folder`, sorted; without Hadoop's checksums."""
        if self._local is not None:
            top = self._local / folder
            files = (one for one in top.rglob("*") if one.is_file() and not _is_checksum(one))
            return sorted(one.relative_to(top).as_posix() for one in files)
        return sorted(self._relative(self._listed(folder) or [], folder))

    def read_json(self, name: str) -> Any:
        """A file's content. FileNotFoundError where there is none."""
        if self._local is not None:
            return json.loads((self._local / name).read_text("utf-8"))
        try:
            rows = self._spark.read.text(exactly(self._path(name))).collect()
        except AnalysisException as error:
            raise FileNotFoundError(self._path(name)) from error
        return json.loads("".join(row.value for row in rows))

    def read_all_json(self, folder: str) -> list[Any]:
        """The content of each `*.json` directly in a folder, by their names."""
        if self._local is not None:
            names = [one for one in self.names(folder) if one.endswith(".json")]
            return [self.read_json(f"{folder}/{one}") for one in names]
        reader = self._spark.read.option("wholetext", "true")
        try:
            found = reader.text(f"{exactly(self._path(folder))}/*.json")
            rows = found.select("_metadata.file_path", "value").collect()
        except AnalysisException as error:
            if "PATH_NOT_FOUND" not in str(error):
                raise
            return []
        texts = {_BEFORE_PATH.sub("", row.file_path): row.value for row in rows}
        return [json.loads(texts[path]) for path in sorted(texts)]

    def write_json(self, name: str, content: Any) -> None:
        """Put a file in place whole. FileExistsError where it is there already."""
        if self._local is not None:
            _put(self._local / name, json.dumps(content, indent=1) + "\n")
            return
        frame = self._spark.createDataFrame([(json.dumps(content),)], "value STRING").coalesce(1)
        try:
            frame.write.mode("error").text(self._path(name))
        except AnalysisException as error:
            if self._listed(name):
                raise FileExistsError(self._path(name)) from error
            # A writer that was killed left its folder without a file.
            frame.write.mode("overwrite").text(self._path(name))

    def check_seen_by_spark(self, name: str) -> None:
        """PipelineError where the Spark of a cluster or server does not see a file that is here."""
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
        """Rename a file of this machine; folders on the way are made."""
        assert self._local is not None, "Spark renames nothing"
        _move(self._local / source, self._local / target)

    def delete(self, name: str) -> None:
        """A file or a whole folder of this machine; nothing where it does not exist."""
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
        """The files at and below a path, or what of it fits a pattern, as Spark lists them; None
        without any."""
        reader = self._spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        try:
            found = reader.load(exactly(self._path(name)) + pattern).select("path").collect()
        except AnalysisException as error:
            if "PATH_NOT_FOUND" not in str(error):
                raise
            return None
        return [_BEFORE_PATH.sub("", row.path) for row in found]

    def _relative(self, paths: list[str], folder: str) -> list[str]:
        top = _BEFORE_PATH.sub("", self._path(folder)).rstrip("/") + "/"
        return [one.removeprefix(top) for one in paths]


def _put(file: Path, text: str) -> None:
    """Written and synced beside its place, then linked there: two writers cannot both succeed."""
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
