"""A table of plain Parquet that the job `table` fills: `LoadedTable` as the job asks for it.

Parquet has no commit: the table is what its manifests name, and is read by them. A program that
reads the folder itself may see half of a run while it is put in place. Files stay as small as they
were written, and there is no way back to an older version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pipeline.errors import PipelineError
from pipeline.tables.loaded_table import FOLDERS, LoadedTable, Manifest, layout
from pipeline.tables.progress import KEY, ROWS, Progress, parsed
from pipeline.tables.table import Size, no_versions

PACKAGES: tuple[str, ...] = ()
SETTINGS: dict[str, str] = {}
LOCAL_SETTINGS: dict[str, str] = {}


class ParquetTable:
    """The folder `path`, local or a URI."""

    def __init__(self, spark: SparkSession, path: str, say: Callable[[str], None] = print) -> None:
        """`say` is not needed: every reader of Parquet reads each table."""
        self.path = path.rstrip("/")
        self._table = LoadedTable(spark, self.path)
        self._properties: dict[str, str] | None = None

    def exists(self) -> bool:
        """Whether a run began to write it."""
        return self._table.exists()

    def create(self, schema: StructType, properties: Mapping[str, str]) -> None:
        """Nothing is written yet: the first manifest makes the table."""
        self._table.check_folder()
        self.remember(properties)

    def properties(self) -> dict[str, str]:
        """Of the newest manifest that has some."""
        if self._properties is None:
            found = [one.properties for one in self._table.manifests() if one.properties]
            self._properties = dict(found[-1]) if found else {}
        return self._properties

    def progress(self) -> Progress | None:
        """By the manifests; puts in place what the last run had committed."""
        manifests = self._table.manifests()
        if not manifests:
            self._table.check_folder()
            return None
        self._table.finish_last()
        return _progress(manifests)

    def expect(self, columns: StructType) -> None:
        """Do nothing: only the job's manifests say what the columns are."""

    def append(self, rows: DataFrame, progress: Progress) -> int:
        """Add rows with one manifest; return how many."""
        ends = {one: progress.ends[one] for one in progress.starts}
        manifest = self._table.write(
            layout(rows),
            progress.topic,
            progress.cluster_id,
            progress.starts,
            ends,
            {**self.properties(), KEY: progress.text()},
            run=progress.run,
        )
        return self._table.count(manifest)

    def commits(self, version: str | None = None, time: str | None = None) -> list[Progress]:
        """All of them."""
        self._refuse_versions(version, time)
        manifests = self._table.manifests()
        return [_progress(manifests[:number]) for number in range(1, len(manifests) + 1)]

    def read(self, version: str | None = None, time: str | None = None) -> DataFrame:
        """By the manifests, without the columns of its folders."""
        self._refuse_versions(version, time)
        return self._table.read().drop(*FOLDERS)

    def size(self) -> Size:
        """Without the files' sizes: nothing here is ever merged."""
        return Size(sum(len(one.files) for one in self._table.manifests()), None)

    def merge(self, target_bytes: int, everything: bool) -> None:
        """Not for Parquet."""
        raise PipelineError(f"{self.path} is of plain Parquet, whose files are not merged")

    def remember(self, properties: Mapping[str, str]) -> None:
        """With the next manifest; each has its own progress already."""
        self._properties = {**self.properties(), **properties}

    def forget(self, days: int) -> None:
        """Not for Parquet."""
        raise no_versions(self.path)

    def _refuse_versions(self, version: str | None, time: str | None) -> None:
        if version is not None or time is not None:
            raise no_versions(self.path)


def _progress(manifests: list[Manifest]) -> Progress:
    """Return the progress in the last manifest; manifests of older versions keep none."""
    last = manifests[-1]
    kept = parsed((last.properties or {}).get(KEY))
    ends: dict[int, int] = {}
    for one in manifests:
        ends.update({int(partition): end for partition, end in one.ends.items()})
    return Progress(
        topic=last.topic,
        cluster_id=last.cluster_id,
        run=last.run,
        starts={int(partition): start for partition, start in last.starts.items()},
        ends=ends,
        of=ROWS if kept is None else kept.of,
        topic_id=None if kept is None else kept.topic_id,
        began={} if kept is None else kept.began,
        gaps=() if kept is None else kept.gaps,
        epochs={} if kept is None else kept.epochs,
    )
