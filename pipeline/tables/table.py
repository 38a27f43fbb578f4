"""A table that the job `table` fills, whatever its format: what the job asks of it.

`open_table` gives the one that a format names. Owns the words by which a second writer is refused.
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
    """What a reader of the table opens."""

    files: int
    size_bytes: int | None
    """None where files are never merged."""


class Table(Protocol):
    """A table at a path. `append` is a transaction: rows and progress, or neither."""

    path: str

    def exists(self) -> bool:
        """Whether there is a table of this format."""
        ...

    def create(self, schema: StructType, properties: Mapping[str, str]) -> None:
        """Make it, if it is not there, with its progress (`progress.KEY`) among the properties.

        PipelineError where something else lies there.
        """
        ...

    def properties(self) -> dict[str, str]:
        """What is kept with the table."""
        ...

    def progress(self) -> Progress | None:
        """How far it holds its topic; None if it is not there.

        PipelineError for a table that this job did not make.
        """
        ...

    def expect(self, columns: StructType) -> None:
        """Take these as the columns that the job has written by now.

        PipelineError if a person has renamed one of them, here and in each `append`.
        """
        ...

    def append(self, rows: DataFrame, progress: Progress) -> int:
        """Add rows, whole; return how many. Columns are added and types grow as the rows need it.

        PipelineError where another writer came between: nothing was added.
        """
        ...

    def commits(self, version: str | None = None, time: str | None = None) -> list[Progress]:
        """Those that are still remembered, oldest first; up to a version or a time, as `read`."""
        ...

    def read(self, version: str | None = None, time: str | None = None) -> DataFrame:
        """All rows, as of a version or a time. PipelineError where it cannot go back."""
        ...

    def size(self) -> Size:
        """Of its present version."""
        ...

    def merge(self, target_bytes: int, everything: bool) -> None:
        """Small files into files of `target_bytes`, sorted by time; `everything` sorts it all."""
        ...

    def remember(self, properties: Mapping[str, str]) -> None:
        """Keep these where no commit that ages takes them away."""
        ...

    def forget(self, days: int) -> None:
        """Delete the versions older than this, and their files."""
        ...


def wants(forms: Sequence[str], local: bool) -> tuple[tuple[str, ...], dict[str, str]]:
    """The Maven packages and the settings that these formats want of Spark."""
    modules = [_module(form) for form in dict.fromkeys(forms)]
    extensions = ",".join(filter(None, (one.SETTINGS.get(_EXTENSIONS) for one in modules)))
    settings: dict[str, str] = {}
    for one in modules:
        settings |= {**one.SETTINGS, **(one.LOCAL_SETTINGS if local else {})}
    if extensions:
        settings[_EXTENSIONS] = extensions
    return tuple(package for one in modules for package in one.PACKAGES), settings


def form_of(path: str) -> str | None:
    """The format of the table in a folder of this machine, by its files; None where there is none,
    or where the path is of another file system."""
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
    """Return the table at a path, there or not. `say` gets sentences for other readers' sake."""
    name = {"delta": "DeltaTable", "iceberg": "IcebergTable", "parquet": "ParquetTable"}[form]
    made: Table = getattr(_module(form), name)(spark, path, say)
    return made


def _module(form: str) -> ModuleType:
    return import_module(f"pipeline.tables.{form}_table")


def columns_of(schema: StructType) -> str:
    """For CREATE TABLE."""
    return ", ".join(f"{quoted(one.name)} {type_text(one.dataType)}" for one in schema.fields)


def type_text(kind: DataType) -> str:
    """Return a type as SQL has it; Spark's own text leaves the names inside it bare."""
    if isinstance(kind, StructType):
        fields = ", ".join(f"{quoted(one.name)}: {type_text(one.dataType)}" for one in kind)
        return f"struct<{fields}>"
    if isinstance(kind, ArrayType):
        return f"array<{type_text(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{type_text(kind.keyType)}, {type_text(kind.valueType)}>"
    return kind.simpleString()


def quoted(name: str) -> str:
    """A name in SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A string in SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def pairs(properties: Mapping[str, str]) -> str:
    """For TBLPROPERTIES."""
    return ", ".join(f"{literal(key)} = {literal(text)}" for key, text in properties.items())


def not_ours(path: str) -> PipelineError:
    """What a job is told of a table that somebody else made."""
    return PipelineError(
        f"{path} is a table that this job did not make, or whose property ottla.progress was "
        "taken away: name another --table"
    )


def refuse_files(spark: SparkSession, path: str) -> None:
    """PipelineError where files lie in a folder that is to become a table: to whoever deletes old
    versions, all that no version names is rubbish."""
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
    """The version that is asked for, or that was the present one by `time`.

    `history` has what is kept, oldest first: the version, and when it became the present one, in µs
    since 1970. `time` is of UTC, `2026-03-02 12:00:00.000000`. PipelineError where there is none.
    """
    if version is not None:
        if int(version) not in dict(history):
            raise forgotten(path, int(version))
        return int(version)
    wanted_us = (datetime.fromisoformat(f"{time}+00:00") - _EPOCH) // timedelta(microseconds=1)
    by_then = [one for one, at_us in history if at_us <= wanted_us]
    if not by_then:
        raise PipelineError(
            f"{path} was not there by {time} (UTC), or its versions of then were deleted "
            f"(--keep-days): it goes back to {_EPOCH + timedelta(microseconds=history[0][1]):%F %T}"
        )
    return by_then[-1]


def forgotten(path: str, version: int) -> PipelineError:
    """What is told of a version that is not there, or not any more."""
    return PipelineError(
        f"{path} has no version {version}, or its files were deleted (--keep-days): take another "
        "--as-of-version, or an --as-of-time"
    )


def no_versions(path: str) -> PipelineError:
    """What is told of a version of plain Parquet."""
    return PipelineError(f"{path} is of plain Parquet, which keeps no older versions")


def another_writer(path: str, run: int) -> PipelineError:
    """What a job is told that came second."""
    return PipelineError(
        f"another job has written run {run} of {path} meanwhile: nothing of this run was kept; "
        "let one job at a time write a table"
    )


def says(error: BaseException, words: Sequence[str]) -> bool:
    """Whether an error of Spark is one of these, by a word of its text: on Spark Connect its class
    tells less."""
    text = str(error)
    return any(word in text for word in words)
