"""A table that the job `table` fills, independent of its format: the calls of the job.

`open_table` returns the table of a format. Owns the sentences by which a second writer is rejected.
Never reads a topic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from pipeline.errors import PipelineError
from pipeline.options import as_spark_has_it, exactly
from pipeline.tables.progress import Progress

_EPOCH = datetime.fromtimestamp(0, UTC)
_EXTENSIONS = "spark.sql.extensions"
FORMATS = ("delta", "iceberg", "parquet")


@dataclass(frozen=True, slots=True)
class Size:
    """The files that a reader of the table opens."""

    files: int
    size_bytes: int | None
    """The bytes of all files; None if files are never merged."""


class Table(Protocol):
    """A table at a path. `append` is a transaction: it adds rows and progress, or neither."""

    path: str

    def exists(self) -> bool:
        """Return whether there is a table of this format at the path."""
        ...

    def create(self, schema: StructType, properties: Mapping[str, str]) -> None:
        """Make the table if it does not exist, with its progress among the properties.

        The key of the progress is `progress.KEY`. Raises PipelineError if there are other files at
        the path.
        """
        ...

    def properties(self) -> dict[str, str]:
        """Return the properties that are kept with the table."""
        ...

    def progress(self) -> Progress | None:
        """Return how far the table holds its topic, None if there is no table.

        Raises PipelineError for a table that this job did not make.
        """
        ...

    def expect(self, columns: StructType) -> None:
        """Take these as the columns that the job has written by now.

        Raises PipelineError if a user has renamed one of them; each later `append` does so, too.
        """
        ...

    def append(self, rows: DataFrame, progress: Progress) -> int:
        """Add all rows, and return their number.

        Columns are added and types grow as the rows require. Raises PipelineError if another writer
        has committed the same run: then nothing was added.
        """
        ...

    def commits(self, version: str | None = None, time: str | None = None) -> list[Progress]:
        """Return the progress of the commits that are still kept, oldest first, up to a version or
        a time as in `read`."""
        ...

    def read(self, version: str | None = None, time: str | None = None) -> DataFrame:
        """Return all rows, as of a version or a time (UTC). Raises PipelineError if that version is
        not kept."""
        ...

    def size(self) -> Size:
        """Return the size of the present version."""
        ...

    def merge(self, target_bytes: int, everything: bool) -> None:
        """Merge small files into files of `target_bytes`, sorted by time; with `everything`, all
        files."""
        ...

    def remember(self, properties: Mapping[str, str]) -> None:
        """Keep these properties with the table, where they do not expire as commits do."""
        ...

    def forget(self, days: int) -> None:
        """Delete the versions older than `days` days, and their files."""
        ...


def wants(forms: Sequence[str], local: bool) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the Maven packages and the settings of Spark that these formats require."""
    modules = [_module(form) for form in dict.fromkeys(forms)]
    extensions = ",".join(filter(None, (module.SETTINGS.get(_EXTENSIONS) for module in modules)))
    settings: dict[str, str] = {}
    for module in modules:
        settings |= {**module.SETTINGS, **(module.LOCAL_SETTINGS if local else {})}
    if extensions:
        settings[_EXTENSIONS] = extensions
    return tuple(package for module in modules for package in module.PACKAGES), settings


def form_of(path: str) -> str | None:
    """Return the format of the table in a folder of this machine, by its files; None if there is no
    table, or if the path is of another file system."""
    folder = Path(path.removeprefix("file://").removeprefix("file:"))
    if (folder / "_delta_log").is_dir():
        return "delta"
    if (folder / "metadata" / "version-hint.text").is_file():
        return "iceberg"
    return "parquet" if (folder / "_load").is_dir() else None


def _silent(_: str) -> None:
    pass


def open_table(
    spark: SparkSession, form: str, path: str, say: Callable[[str], None] = _silent
) -> Table:
    """Return the table at a path, which may not exist yet. `say` gets sentences about readers that
    cannot read the table."""
    name = {"delta": "DeltaTable", "iceberg": "IcebergTable", "parquet": "ParquetTable"}[form]
    made: Table = getattr(_module(form), name)(spark, path, say)
    return made


def _module(form: str) -> ModuleType:
    return import_module(f"pipeline.tables.{form}_table")


def columns_of(schema: StructType) -> str:
    """Return the columns as CREATE TABLE requires them."""
    return ", ".join(f"{quoted(field.name)} {type_text(field.dataType)}" for field in schema.fields)


def type_text(kind: DataType) -> str:
    """Return a type as SQL requires it, because Spark's own text does not quote the names
    inside."""
    if isinstance(kind, StructType):
        fields = ", ".join(f"{quoted(field.name)}: {type_text(field.dataType)}" for field in kind)
        return f"struct<{fields}>"
    if isinstance(kind, ArrayType):
        return f"array<{type_text(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{type_text(kind.keyType)}, {type_text(kind.valueType)}>"
    return kind.simpleString()


def quoted(name: str) -> str:
    """Return a quoted name for SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Return a string literal of SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def pairs(properties: Mapping[str, str]) -> str:
    """Return properties as TBLPROPERTIES requires them."""
    return ", ".join(f"{literal(key)} = {literal(text)}" for key, text in properties.items())


def not_ours(path: str) -> PipelineError:
    """Return the error for a table that this job did not make."""
    return PipelineError(
        f"{path} is a table that this job did not make, or whose property ottla.progress was "
        "taken away: name another --table"
    )


def refuse_files(spark: SparkSession, path: str) -> None:
    """Raise PipelineError if there are files in a folder that is to become a table, because a later
    deletion of old versions would delete the files."""
    files = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        there = files.load(exactly(as_spark_has_it(path))).select("path").limit(1).collect()
    except Exception as error:
        if says(error, ("PATH_NOT_FOUND",)):
            return
        raise
    if there:
        raise PipelineError(f"{path} holds files that this job did not write: name another --table")


def as_of(
    path: str, history: Sequence[tuple[int, int]], version: str | None, time: str | None
) -> int:
    """Return the given version, or the version that was the present one at `time`.

    `history` has the kept versions, oldest first, each with the time at which it became the present
    one, in µs since 1970. `time` is in UTC, such as `2026-03-02 12:00:00.000000`. Raises
    PipelineError if there is no such version.
    """
    if version is not None:
        if int(version) not in dict(history):
            raise forgotten(path, int(version))
        return int(version)
    wanted_us = (datetime.fromisoformat(f"{time}+00:00") - _EPOCH) // timedelta(microseconds=1)
    by_then = [number for number, at_us in history if at_us <= wanted_us]
    if not by_then:
        raise PipelineError(
            f"{path} was not there by {time} (UTC), or its versions of then were deleted "
            f"(--keep-days): it goes back to {_EPOCH + timedelta(microseconds=history[0][1]):%F %T}"
        )
    return by_then[-1]


def forgotten(path: str, version: int) -> PipelineError:
    """Return the error for a version that does not exist, or not any more."""
    return PipelineError(
        f"{path} has no version {version}, or its files were deleted (--keep-days): take another "
        "--as-of-version, or an --as-of-time"
    )


def no_versions(path: str) -> PipelineError:
    """Return the error for a version of plain Parquet."""
    return PipelineError(f"{path} is of plain Parquet, which keeps no older versions")


def another_writer(path: str, run: int) -> PipelineError:
    """Return the error for a job whose run another job has committed."""
    return PipelineError(
        f"another job has written run {run} of {path} meanwhile: nothing of this run was kept; "
        "let one job at a time write a table"
    )


def says(error: BaseException, words: Sequence[str]) -> bool:
    """Return whether the text of an error of Spark has one of these words, because the class of an
    error of Spark Connect says less."""
    text = str(error)
    return any(word in text for word in words)
