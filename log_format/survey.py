"""The options of a reader of data folders, and the survey of the folders: topics, offsets, parts.

Owns the options and their checks, the choice of the partitions, and the offsets between which each
is read. An option that Spark's stock Kafka source also has is named as there:

    path                     a data folder, or the folder of one partition; several with commas
    subscribe                topics with commas; by default all but Kafka's own (`__…`)
    assign                   only these partitions, as JSON {"topic": [0, 1]}
    startingOffsets          earliest, or JSON {"topic": {"0": 23, "1": -2}}; -2 is earliest
    endingOffsets            latest, or JSON; -1 is latest
    startingTimestamp        ms since the epoch: from the first record of that time or later
    endingTimestamp          to before the first record of that time or later
    isolation.level          read_committed (the default here), or read_uncommitted
    bound                    log.end (the default), or high.watermark: that of the broker's
                             checkpoint, which is some seconds old unless the broker was stopped
    maxPartitionBytes        bytes of the files for each task: 128 MiB
    check.crcs               false leaves checksums unchecked
    damage                   refuse (the default), or stop: a log ends where its damage begins

Never reads a record, except to find the first record of a time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from log_format.damage import LogError
from log_format.files import Files
from log_format.partitions.data_folder import DataFolder, PartitionFolder
from log_format.partitions.partition_log import PartitionLog
from log_format.partitions.partition_reader import PartitionSlice, parts_of
from log_format.records.segment_pieces import Crc, crc32c_function

_EARLIEST, _LATEST = -2, -1
_PART_BYTES = 128 * 1024 * 1024
_CHOICES = {
    "isolation.level": ("read_committed", "read_uncommitted"),
    "bound": ("log.end", "high.watermark"),
    "check.crcs": ("true", "false"),
    "damage": ("refuse", "stop"),
}
_OTHERS = (
    *("path", "subscribe", "assign", "startingoffsets", "endingoffsets"),
    *("startingtimestamp", "endingtimestamp", "maxpartitionbytes", "view"),
)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of a reader, after their checks."""

    paths: tuple[str, ...]
    topics: tuple[str, ...] = ()
    partitions: tuple[tuple[str, int], ...] | None = None
    """The assigned partitions, as topic and number; None: the option assign is not set."""
    starts: Mapping[tuple[str, int], int] = field(default_factory=dict)
    ends: Mapping[tuple[str, int], int] = field(default_factory=dict)
    start_ms: int | None = None
    end_ms: int | None = None
    committed: bool = True
    to_high_watermark: bool = False
    part_bytes: int = _PART_BYTES
    checked: bool = True
    stop_at_damage: bool = False

    def crc(self) -> Crc | None:
        """Return the function that checks batches; None: they are not checked. Raises LogError if
        the package crc32c is not installed."""
        return crc32c_function() if self.checked else None


@dataclass(frozen=True, slots=True)
class SurveyedPartition:
    """A partition, the offsets between which this reader reads it, and the notes on its files."""

    log: PartitionLog
    start: int
    end: int
    cluster_id: str | None
    notes: tuple[str, ...]


def read_options(options: Mapping[str, str]) -> ReadOptions:
    """Return the checked options; the case of names does not matter. Raises LogError for invalid
    options."""
    texts = {key.lower(): value for key, value in options.items()}
    for key in texts:
        if key not in _CHOICES and key not in _OTHERS:
            raise LogError(f"option {key}: a folder is read without it")
    chosen = {}
    for key, values in _CHOICES.items():
        chosen[key] = texts.get(key, values[0]).lower()
        if chosen[key] not in values:
            raise LogError(f"option {key} is {texts[key]}: {' or '.join(values)} is wanted")
    paths = tuple(_path(path) for path in texts.get("path", "").split(",") if path.strip())
    if not paths:
        raise LogError("no folder is named: load(PATH), or option path")
    topics = tuple(
        topic.strip() for topic in texts.get("subscribe", "").split(",") if topic.strip()
    )
    assigned = _assigned(texts)
    if assigned is not None:
        if topics:
            raise LogError("options subscribe and assign: one of them is wanted")
        topics = tuple(dict.fromkeys(topic for topic, _ in assigned))
    part_bytes = _number(texts, "maxpartitionbytes")
    if part_bytes is not None and part_bytes < 1:
        raise LogError("option maxpartitionbytes: 1 or more is wanted")
    return ReadOptions(
        paths,
        topics,
        assigned,
        _offsets(texts, "startingoffsets", "earliest", _EARLIEST),
        _offsets(texts, "endingoffsets", "latest", _LATEST),
        _number(texts, "startingtimestamp"),
        _number(texts, "endingtimestamp"),
        chosen["isolation.level"] == "read_committed",
        chosen["bound"] == "high.watermark",
        part_bytes or _PART_BYTES,
        chosen["check.crcs"] == "true",
        chosen["damage"] == "stop",
    )


def survey(files: Files, options: ReadOptions) -> list[SurveyedPartition]:
    """Return the partitions that the options select, sorted by topic and number.

    Raises LogError if a folder cannot be read, or a named topic or partition is missing, or none is
    selected. Two folders with the same partition, or with different topics of the same name, are
    an error too.
    """
    crc = options.crc()
    by_name: dict[tuple[str, int], SurveyedPartition] = {}
    topics: list[str] = []
    for path in options.paths:
        folder = DataFolder(files, path)
        topics += [entry.topic for entry in folder.partitions]
        for number, entry in enumerate(_selected_folders(folder, options)):
            log = PartitionLog(
                files,
                entry.folder,
                entry.topic,
                entry.partition,
                crc,
                log_start=entry.log_start,
                clean=entry.clean,
                stop_at_damage=options.stop_at_damage,
            )
            if (entry.topic, entry.partition) in by_name:
                earlier = by_name[entry.topic, entry.partition].log.folder
                raise LogError(
                    f"{entry.folder} and {earlier} are the same partition: name one of them"
                )
            notes = (*(folder.notes if not number else ()), *log.notes)
            by_name[entry.topic, entry.partition] = _bounded(
                log, entry, options, folder.cluster_id, notes
            )
    for topic in options.topics:
        if topic not in topics:
            raise LogError(
                f"{', '.join(options.paths)} has no topic {topic}: it has "
                f"{', '.join(sorted(set(topics)))}"
            )
    for topic, partition in options.partitions or ():
        if (topic, partition) not in by_name:
            raise LogError(f"{', '.join(options.paths)} has no partition {topic}-{partition}")
    if not by_name:
        raise LogError(f"{', '.join(options.paths)} has no topics but Kafka's own: name one")
    surveyed = [by_name[name] for name in sorted(by_name)]
    _refuse_two_of_a_name(surveyed)
    return surveyed


def parts(surveyed: list[SurveyedPartition], options: ReadOptions) -> list[PartitionSlice]:
    """Return the parts that tasks read, each of about `options.part_bytes`."""
    return [
        part
        for partition in surveyed
        for part in parts_of(
            partition.log,
            partition.start,
            partition.end,
            committed=options.committed,
            step_bytes=options.part_bytes,
        )
    ]


def _refuse_two_of_a_name(surveyed: list[SurveyedPartition]) -> None:
    """Raise LogError if partitions belong to two topics with the same name but other topic ids. A
    disk that was offline while a topic was deleted and created again has partitions of the old
    topic."""
    firsts: dict[str, PartitionLog] = {}
    for log in (partition.log for partition in surveyed):
        if log.topic_id is None:
            continue
        first = firsts.setdefault(log.topic, log)
        if first.topic_id != log.topic_id:
            raise LogError(
                f"{first.folder} and {log.folder} are of two topics named {log.topic} (ids "
                f"{first.topic_id} and {log.topic_id}: it was deleted and made again): read the "
                "folders of one of them"
            )


def _selected_folders(folder: DataFolder, options: ReadOptions) -> list[PartitionFolder]:
    """Return the partitions that the options name; without options, all but internal topics."""
    if options.partitions is not None:
        assigned = options.partitions
        return [entry for entry in folder.partitions if (entry.topic, entry.partition) in assigned]
    if options.topics:
        return [entry for entry in folder.partitions if entry.topic in options.topics]
    return [entry for entry in folder.partitions if not entry.topic.startswith("__")]


def _bounded(
    log: PartitionLog,
    entry: PartitionFolder,
    options: ReadOptions,
    cluster_id: str | None,
    notes: tuple[str, ...],
) -> SurveyedPartition:
    """Return a partition with the offsets between which it is read. Raises LogError if the options
    have offsets that the log does not have, or a high watermark is wanted and no checkpoint has
    it."""
    name = f"{log.topic}-{log.partition}"
    last = log.stable_end if options.committed else log.end
    if options.to_high_watermark:
        if entry.high_watermark is None:
            raise LogError(
                f"{name}: no replication-offset-checkpoint tells its high watermark; read it with "
                "bound=log.end"
            )
        last = max(min(last, entry.high_watermark), log.log_start)
    start = options.starts.get((log.topic, log.partition), _EARLIEST)
    if start == _EARLIEST:
        start = log.log_start
    end = options.ends.get((log.topic, log.partition), _LATEST)
    if end == _LATEST:
        end = last
    if not log.log_start <= start <= log.end or not log.log_start <= end <= log.end:
        raise LogError(
            f"{name} holds offsets {log.log_start} to before {log.end}: {start} to before {end} "
            "is not in it"
        )
    if options.start_ms is not None:
        time_offset = log.offset_of_time(options.start_ms)
        start = max(start, log.end if time_offset is None else time_offset)
    if options.end_ms is not None:
        time_offset = log.offset_of_time(options.end_ms)
        end = min(end, log.end if time_offset is None else time_offset)
    end = min(end, last)
    return SurveyedPartition(log, min(start, end), end, cluster_id, notes)


def _path(text: str) -> str:
    """Return a path of this machine, without a leading `file:`. Raises LogError for other URLs."""
    path = text.strip()
    scheme, colon, rest = path.partition(":")
    if colon and scheme == "file":
        return "/" + rest.lstrip("/")
    if colon and rest.startswith("//"):
        raise LogError(f"{path}: folders are read from a disk that all of Spark sees, by its path")
    return path


def _number(options: Mapping[str, str], key: str) -> int | None:
    """Return an option as a number, None if it is unset.

    Raises LogError if it is no whole number.
    """
    text = options.get(key)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise LogError(f"option {key} is {text}: a whole number is wanted") from None


def _assigned(options: Mapping[str, str]) -> tuple[tuple[str, int], ...] | None:
    """Return the partitions of the option `assign`, None if it is unset.

    Raises LogError at bad JSON.
    """
    text = options.get("assign")
    if text is None:
        return None
    try:
        return tuple(
            (str(topic), int(number))
            for topic, numbers in json.loads(text).items()
            for number in numbers
        )
    except (ValueError, AttributeError, TypeError):
        raise LogError(
            f'option assign is {text}: JSON such as {{"topic": [0, 1]}} is wanted'
        ) from None


def _offsets(
    options: Mapping[str, str], key: str, word: str, standing_for: int
) -> dict[tuple[str, int], int]:
    """Return the offsets of an option by partition; {} if it is `word`, its default.

    Raises LogError at bad JSON, or a negative offset other than `standing_for`.
    """
    text = options.get(key, word)
    if text.lower() == word:
        return {}
    try:
        offsets = {
            (str(topic), int(partition)): int(offset)
            for topic, partitions in json.loads(text).items()
            for partition, offset in partitions.items()
        }
    except (ValueError, AttributeError, TypeError):
        offsets = {("", 0): -9}
    if any(offset < 0 and offset != standing_for for offset in offsets.values()):
        raise LogError(
            f'option {key} is {text}: {word}, or JSON such as {{"topic": {{"0": 23}}}} is wanted'
        )
    return offsets
