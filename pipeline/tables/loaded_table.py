"""A table of Parquet that `load` fills: partitioned by date and hour, with each run once.

A run writes into a folder of its own under `_load/`, and then its manifest, which names the offsets
that it read and the files that it wrote. Putting the manifest in place is the commit. Only then the
files move to `date=…/hour=…/`. If a run is killed in between, the next run finishes it; files that
were never committed are removed. Off a local disk nothing can be moved or removed: the files stay
in the run's folder, hidden from other engines, and files without a manifest are not read. So the
table holds every record of the manifests' offsets once, whenever a run was killed. Owns the folder;
never reads a topic.
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
# Spark takes a folder `ottla_run=…` for a column; otherwise each run would be a table of its own.
_RUN = "ottla_run"


@dataclass(frozen=True, slots=True)
class Manifest:
    """A committed run. Offsets are by partition as text, because a manifest is JSON."""

    run: int
    topic: str
    cluster_id: str
    starts: dict[str, int]
    ends: dict[str, int]
    """The offset after the last that the run read, by partition."""
    staging: str
    files: list[str]
    """The paths of the files in the staging folder, `date=…/hour=…/part-….parquet`."""
    schema: str | None = None
    """The schema of the rows, as Spark's JSON; None if an older version wrote the raw records
    alone."""
    properties: dict[str, str] | None = None
    """The properties of the table from this run on."""
    stays: bool = False
    """Whether the files stay in the staging folder, because the table is off a local disk."""

    def placed(self) -> list[str]:
        """Return the paths of the files in the table, in the order of `files`."""
        if self.stays:
            return [f"{self.staging}/{file}" for file in self.files]
        return [
            f"{file.rpartition('/')[0]}/run-{self.run:06}-{number:05}.parquet"
            for number, file in enumerate(self.files)
        ]


def layout(records: DataFrame) -> DataFrame:
    """Return records as rows of the table, in their order there; they have the place's columns.

    A column with the name of a folder becomes `value_date`, `value_hour` or `value_ottla_run`.
    Raises PipelineError if a column has this name already.
    """
    own = {name: f"value_{name}" for name in records.columns if name.lower() in (*FOLDERS, _RUN)}
    for field, other in own.items():
        if other.lower() in (name.lower() for name in records.columns):
            raise PipelineError(
                f"the fields {field} and {other} would have one column, {other}: give a --schema "
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
    """The table in the folder `path`, local or a URI."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self.path = path
        self._files = Files(spark, path)

    def exists(self) -> bool:
        """Return whether `load` has made the table."""
        return self._files.exists(_OWN)

    def manifests(self) -> list[Manifest]:
        """Return the manifests of all committed runs, in order."""
        return [Manifest(**kept) for kept in self._files.read_all_json(_OWN)]

    def check_folder(self) -> None:
        """Raise PipelineError if a folder that is no table yet holds other files."""
        if not self.exists() and self._files.names():
            raise PipelineError(
                f"{self.path} holds files that load did not write: name another --table"
            )

    def finish_last(self) -> int:
        """Put the files of the last committed run in place, and return how many were moved.

        Removes the files that no run committed.
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
        """Add a complete run, by default the next one, and return its manifest. Raises
        PipelineError if another load has committed the same run."""
        run = run or len(self.manifests()) + 1
        stays = not self._files.is_local
        name = f"{run:06}-{uuid.uuid4().hex}"
        staging = f"{_STAYING}/{_RUN}={name}" if stays else f"{_STAGING}/{name}"
        rows.write.partitionBy(*FOLDERS).parquet(f"{self._files.root}/{staging}")
        manifest = Manifest(
            run=run,
            topic=topic,
            cluster_id=cluster_id,
            starts={str(partition): offset for partition, offset in starts.items()},
            ends={str(partition): offset for partition, offset in ends.items()},
            staging=staging,
            files=[file for file in self._files.files_below(staging) if file.endswith(".parquet")],
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
        """Return the number of rows that a run has written, from the footers of its files."""
        files = [exactly(f"{self._files.root}/{file}") for file in manifest.placed()]
        return self._spark.read.parquet(*files).count() if files else 0

    def commit(self, manifest: Manifest) -> None:
        """Put the manifest in place, which commits the run. Raises PipelineError if another load
        has committed the same run."""
        try:
            self._files.write_json(f"{_OWN}/{manifest.run:06}.json", asdict(manifest))
        except FileExistsError as error:
            raise PipelineError(
                f"another load has written run {manifest.run} of {self.path} meanwhile: "
                "nothing of this run was kept, start it again"
            ) from error

    def read(self) -> DataFrame:
        """Return all rows of committed runs; `date` and `hour` are columns too."""
        manifests = self.manifests()
        schema: StructType | str = f"{SCHEMA}, date DATE, hour INT"
        if manifests and manifests[-1].schema is not None:
            schema = StructType.fromJson(json.loads(manifests[-1].schema))
        frames = []
        for stays, base in ((False, self._files.root), (True, f"{self._files.root}/{_STAYING}")):
            chosen = [manifest for manifest in manifests if manifest.stays == stays]
            placed = [
                exactly(f"{self._files.root}/{file}")
                for manifest in chosen
                for file in manifest.placed()
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
