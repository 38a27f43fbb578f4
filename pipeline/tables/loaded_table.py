"""A table of Parquet that `load` fills: partitioned by date and hour, each run in it once.

A run writes into a folder of its own under `_load/`, then its manifest: which offsets it read and
which files it wrote. Putting the manifest in place is the commit. Only then the files move to
`date=…/hour=…/`; a run that was killed in between is finished by the next one, and what was never
committed is removed. Off a local disk nothing can be moved or removed: there the files stay in the
run's folder, out of sight of other engines, and what no manifest names stays unread. So the table
holds every record of the manifests' offsets once, whatever was killed when. Owns the folder; never
reads a topic.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pipeline.errors import PipelineError
from pipeline.options import exactly
from pipeline.tables.files import Files

SCHEMA = (
    "topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, key BINARY, value BINARY, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
FOLDERS = ("date", "hour")
_OWN = "_load"
_STAGING = f"{_OWN}/staging"
_STAYING = f"{_OWN}/rows"
# A folder `ottla_run=…` is a column for Spark: else each run would be a table of its own to it.
_RUN = "ottla_run"


@dataclass(frozen=True, slots=True)
class Manifest:
    """One committed run. Offsets by partition, as text: it is JSON."""

    run: int
    topic: str
    cluster_id: str
    starts: dict[str, int]
    ends: dict[str, int]
    """One past the last offset that the run read."""
    staging: str
    files: list[str]
    """Where they lie in the staging folder, `date=…/hour=…/part-….parquet`."""
    schema: str | None = None
    """Of the rows, as Spark's JSON; None where an older version wrote the raw records alone."""
    properties: dict[str, str] | None = None
    """What is kept with the table, from this run on."""
    stays: bool = False
    """Whether the files stay where they were written, off a local disk."""

    def placed(self) -> list[str]:
        """Where the files lie in the table, in the same order."""
        if self.stays:
            return [f"{self.staging}/{file}" for file in self.files]
        return [
            f"{file.rpartition('/')[0]}/run-{self.run:06}-{number:05}.parquet"
            for number, file in enumerate(self.files)
        ]


def layout(records: DataFrame) -> DataFrame:
    """Rows with the columns of a record's place as rows of the table, in the order they are kept.

    A column that has the name of a folder is called `value_date`, `value_hour` or
    `value_ottla_run`; PipelineError where one is called so already.
    """
    own = {one: f"value_{one}" for one in records.columns if one.lower() in (*FOLDERS, _RUN)}
    for one, other in own.items():
        if other.lower() in (name.lower() for name in records.columns):
            raise PipelineError(
                f"the fields {one} and {other} would have one column, {other}: give a --schema "
                "without one of them"
            )
    rows = records.withColumnsRenamed(own).select(
        "*",
        F.to_date("timestamp").alias("date"),
        F.hour("timestamp").alias("hour"),
    )
    # One file an hour, not one for each of the topic's partitions.
    return rows.repartition(*FOLDERS).sortWithinPartitions(*FOLDERS, "partition", "offset")


class LoadedTable:
    """The folder `path`, local or a URI."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self.path = path
        self._files = Files(spark, path)

    def exists(self) -> bool:
        """Whether `load` has made it."""
        return self._files.exists(_OWN)

    def manifests(self) -> list[Manifest]:
        """Every committed run, in order."""
        return [Manifest(**kept) for kept in self._files.read_all_json(_OWN)]

    def check_folder(self) -> None:
        """PipelineError where somebody else's files lie in a folder that is no table yet."""
        if not self.exists() and self._files.names():
            raise PipelineError(
                f"{self.path} holds files that load did not write: name another --table"
            )

    def finish_last(self) -> int:
        """Put in place what the last run had committed; how many of its files that were.

        Removes what no run committed.
        """
        moved = 0
        manifests = self.manifests()
        if manifests:
            moved = self._place(manifests[-1])
        self._files.delete(_STAGING)
        return moved

    def write(
        self,
        rows: DataFrame,
        topic: str,
        cluster_id: str,
        starts: Mapping[int, int],
        ends: Mapping[int, int],
        properties: Mapping[str, str] | None = None,
        run: int | None = None,
    ) -> Manifest:
        """Add one run, whole; the next one where no `run` is named. PipelineError where another
        load came between."""
        run = run or len(self.manifests()) + 1
        stays = not self._files.is_local
        name = f"{run:06}-{uuid.uuid4().hex}"
        staging = f"{_STAYING}/{_RUN}={name}" if stays else f"{_STAGING}/{name}"
        rows.write.partitionBy(*FOLDERS).parquet(f"{self._files.root}/{staging}")
        manifest = Manifest(
            run=run,
            topic=topic,
            cluster_id=cluster_id,
            starts={str(one): offset for one, offset in starts.items()},
            ends={str(one): offset for one, offset in ends.items()},
            staging=staging,
            files=[one for one in self._files.files_below(staging) if one.endswith(".parquet")],
            schema=rows.schema.json(),
            properties=None if properties is None else dict(properties),
            stays=stays,
        )
        self.commit(manifest)
        if not stays:
            self._place(manifest)
            self._files.delete(staging)
        return manifest

    def count(self, manifest: Manifest) -> int:
        """Return how many rows a run has written: what the ends of its files say."""
        files = [exactly(f"{self._files.root}/{file}") for file in manifest.placed()]
        return self._spark.read.parquet(*files).count() if files else 0

    def commit(self, manifest: Manifest) -> None:
        """From here on the run counts."""
        try:
            self._files.write_json(f"{_OWN}/{manifest.run:06}.json", asdict(manifest))
        except FileExistsError as error:
            raise PipelineError(
                f"another load has written run {manifest.run} of {self.path} meanwhile: "
                "nothing of this run was kept, start it again"
            ) from error

    def read(self) -> DataFrame:
        """All rows of committed runs; `date` and `hour` are columns too."""
        manifests = self.manifests()
        schema: StructType | str = f"{SCHEMA}, date DATE, hour INT"
        if manifests and manifests[-1].schema is not None:
            schema = StructType.fromJson(json.loads(manifests[-1].schema))
        frames = []
        for stays, base in ((False, self._files.root), (True, f"{self._files.root}/{_STAYING}")):
            chosen = [one for one in manifests if one.stays == stays]
            placed = [
                exactly(f"{self._files.root}/{file}") for one in chosen for file in one.placed()
            ]
            if placed:
                reader = self._spark.read.schema(schema).option("basePath", base)
                frames.append(reader.parquet(*placed).drop(_RUN))
        if not frames:
            return self._spark.createDataFrame([], schema)
        return reduce(DataFrame.unionByName, frames)

    def _place(self, manifest: Manifest) -> int:
        if manifest.stays:
            there = self._files.files_below(manifest.staging)
            for file in manifest.files:
                if file not in there:
                    raise self._gone(f"{manifest.staging}/{file}", manifest.run)
            return 0
        moved = 0
        for file, target in zip(manifest.files, manifest.placed(), strict=True):
            source = f"{manifest.staging}/{file}"
            if self._files.exists(source):
                self._files.move(source, target)
                moved += 1
            elif not self._files.exists(target):
                raise self._gone(target, manifest.run)
        return moved

    def _gone(self, file: str, run: int) -> PipelineError:
        return PipelineError(
            f"{self.path}/{file} is gone, which run {run} had written: load into another --table"
        )
