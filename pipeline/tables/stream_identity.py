"""The identity of a stream: a stream goes on only with its own checkpoint and its own table.

Owns `stream.json` and `topic.json` in the checkpoint and `_stream.json` in the table. A checkpoint
holds offsets of a topic in a cluster, and sums of a window length: with another topic, cluster or
window the results would be wrong without an error. `topic.json` has the topic's id; a checkpoint of
an older version gets the file when the stream goes on.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass

from pyspark.sql import SparkSession

from pipeline.errors import PipelineError
from pipeline.tables.files import Files
from pipeline.tables.progress import is_another

CHECKPOINT_FILE = "stream.json"
TOPIC_FILE = "topic.json"
TABLE_FILE = "_stream.json"
_SPARKS_OWN = ("offsets", "commits", "metadata")


@dataclass(frozen=True, slots=True)
class StreamIdentity:
    """The settings that a checkpoint is bound to."""

    topic: str
    cluster_id: str
    window: str
    watermark: str
    lateness: str
    results_topic: str
    dead_letters: str


def claim(
    spark: SparkSession,
    checkpoint: str,
    table: str,
    wanted: StreamIdentity,
    topic_id: str | None,
    check_new: Callable[[], None],
) -> bool:
    """Bind checkpoint and table to this stream, or check that they are. Return whether it is new.

    `check_new` runs before anything is written. Raises PipelineError if the checkpoint or the table
    belongs to another stream, or the topic was made again.
    """
    at_checkpoint, at_table = Files(spark, checkpoint), Files(spark, table)
    is_new = not at_checkpoint.exists(CHECKPOINT_FILE)
    if is_new:
        if any(name in _SPARKS_OWN for name in at_checkpoint.names()):
            raise PipelineError(
                f"checkpoint {checkpoint} is another Spark program's: name another --checkpoint"
            )
        _refuse_other_table(at_table, table, None)
        check_new()
        stream_id = str(uuid.uuid4())
        at_checkpoint.write_json(CHECKPOINT_FILE, {"stream_id": stream_id, **asdict(wanted)})
        at_checkpoint.check_seen_by_spark(CHECKPOINT_FILE)
    else:
        kept = at_checkpoint.read_json(CHECKPOINT_FILE)
        stream_id = kept["stream_id"]
        refuse_differences(checkpoint, kept, wanted)
        _refuse_other_table(at_table, table, stream_id)
    _bind_to_topic(at_checkpoint, checkpoint, wanted.topic, topic_id)
    if not at_table.exists(TABLE_FILE):
        at_table.write_json(TABLE_FILE, {"stream_id": stream_id, "checkpoint": checkpoint})
    return is_new


def _bind_to_topic(files: Files, checkpoint: str, topic: str, topic_id: str | None) -> None:
    if files.exists(TOPIC_FILE):
        bound_id = files.read_json(TOPIC_FILE)["topic_id"]
        if is_another(bound_id, topic_id):
            raise PipelineError(
                f"topic {topic} was deleted and made again since checkpoint {checkpoint} was made "
                f"(its id was {bound_id}, it is {topic_id} now): name another --checkpoint and "
                "--table to begin again"
            )
    elif topic_id is not None:
        files.write_json(TOPIC_FILE, {"topic_id": topic_id})


def refuse_differences(checkpoint: str, kept: dict[str, str], wanted: StreamIdentity) -> None:
    """Raise PipelineError for the first setting in which the settings `kept` of a checkpoint
    differ."""
    for name, value in asdict(wanted).items():
        if kept.get(name) == value:
            continue
        if name == "topic":
            what = f"is of topic {kept.get(name)}, not of {value}"
        elif name == "cluster_id":
            what = f"is of another cluster ({kept.get(name)}; this one is {value})"
        else:
            option = f"--{name.replace('_', '-')}"
            what = f"was made with {option} {kept.get(name)!r}, not {value!r}"
        raise PipelineError(
            f"checkpoint {checkpoint} {what}: name another --checkpoint and --table to begin anew"
        )


def _refuse_other_table(files: Files, table: str, stream_id: str | None) -> None:
    if files.exists(TABLE_FILE):
        if files.read_json(TABLE_FILE)["stream_id"] == stream_id:
            return
    elif not files.names():
        return
    raise PipelineError(
        f"table {table} was not written with this checkpoint: name another --table, or the "
        "checkpoint that belongs to it"
    )
