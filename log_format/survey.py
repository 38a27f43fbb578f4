"""What a reader of data folders was asked for, and what it finds there: topics, offsets, parts.

Owns the options, named as those of Spark's stock Kafka source where that has the same, and their
checks; which partitions are meant; and between which offsets each is read:

    path                     a data folder, or the folder of one partition; several with commas
    subscribe                topics with commas; else all but Kafka's own (`__…`)
    assign                   or partitions, as JSON {"topic": [0, 1]}: these and no others
    startingOffsets          earliest, or JSON {"topic": {"0": 23, "1": -2}}; -2 is earliest
    endingOffsets            latest, or JSON; -1 is latest
    startingTimestamp        ms since the epoch: from the first record of that time or later
    endingTimestamp          to before the first record of that time or later
    isolation.level          read_committed (the default here), or read_uncommitted
    bound                    log.end (the default), or high.watermark: as the broker's checkpoint
                             says, which is some seconds old unless the broker was stopped
    maxPartitionBytes        of the files, a task: 128 MiB
    check.crcs               false leaves checksums unchecked
    damage                   refuse (the default), or stop: a log ends where its damage begins

Never reads a record, but to find one of a time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from log_format.damage import LogError
from log_format.files import Files
from log_format.partitions.data_folder import DataFolder, Found
from log_format.partitions.partition_log import PartitionLog
from log_format.partitions.partition_reader import Part, parts_of
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
class Asked:
    """The options, checked."""

    paths: tuple[str, ...]
    topics: tuple[str, ...] = ()
    partitions: tuple[tuple[str, int], ...] | None = None
    """Of these topics, or all."""
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
        """What batches are checked with. Raises LogError."""
        return crc32c_function() if self.checked else None


@dataclass(frozen=True, slots=True)
class Surveyed:
    """One partition: where it begins and ends for this reader, and what was noticed."""

    log: PartitionLog
    start: int
    end: int
    cluster_id: str | None
    notes: tuple[str, ...]


def asked(options: Mapping[str, str]) -> Asked:
    """Options by name, whose case does not matter. Raises LogError for what cannot be."""
    given = {key.lower(): value for key, value in options.items()}
    for key in given:
        if key not in _CHOICES and key not in _OTHERS:
            raise LogError(f"option {key}: a folder is read without it")
    chosen = {}
    for key, values in _CHOICES.items():
        chosen[key] = given.get(key, values[0]).lower()
        if chosen[key] not in values:
            raise LogError(f"option {key} is {given[key]}: {' or '.join(values)} is wanted")
    paths = tuple(_path(one) for one in given.get("path", "").split(",") if one.strip())
    if not paths:
        raise LogError("no folder is named: load(PATH), or option path")
    topics = tuple(one.strip() for one in given.get("subscribe", "").split(",") if one.strip())
    assigned = _assigned(given)
    if assigned is not None:
        if topics:
            raise LogError("options subscribe and assign: one of them is wanted")
        topics = tuple(dict.fromkeys(topic for topic, _ in assigned))
    part_bytes = _number(given, "maxpartitionbytes")
    if part_bytes is not None and part_bytes < 1:
        raise LogError("option maxpartitionbytes: 1 or more is wanted")
    return Asked(
        paths,
        topics,
        assigned,
        _offsets(given, "startingoffsets", "earliest", _EARLIEST),
        _offsets(given, "endingoffsets", "latest", _LATEST),
        _number(given, "startingtimestamp"),
        _number(given, "endingtimestamp"),
        chosen["isolation.level"] == "read_committed",
        chosen["bound"] == "high.watermark",
        part_bytes or _PART_BYTES,
        chosen["check.crcs"] == "true",
        chosen["damage"] == "stop",
    )


def survey(files: Files, wanted: Asked) -> list[Surveyed]:
    """All partitions that are meant, by topic and number. Raises LogError."""
    crc = wanted.crc()
    found: dict[tuple[str, int], Surveyed] = {}
    seen: list[str] = []
    for path in wanted.paths:
        folder = DataFolder(files, path)
        seen += [one.topic for one in folder.partitions]
        for number, one in enumerate(_meant(folder, wanted)):
            log = PartitionLog(
                files,
                one.folder,
                one.topic,
                one.partition,
                crc,
                log_start=one.log_start,
                clean=one.clean,
                stop_at_damage=wanted.stop_at_damage,
            )
            if (one.topic, one.partition) in found:
                earlier = found[one.topic, one.partition].log.folder
                raise LogError(
                    f"{one.folder} and {earlier} are the same partition: name one of them"
                )
            notes = (*(folder.notes if not number else ()), *log.notes)
            found[one.topic, one.partition] = _bounded(log, one, wanted, folder.cluster_id, notes)
    for topic in wanted.topics:
        if topic not in seen:
            raise LogError(
                f"{', '.join(wanted.paths)} has no topic {topic}: it has "
                f"{', '.join(sorted(set(seen)))}"
            )
    for topic, partition in wanted.partitions or ():
        if (topic, partition) not in found:
            raise LogError(f"{', '.join(wanted.paths)} has no partition {topic}-{partition}")
    if not found:
        raise LogError(f"{', '.join(wanted.paths)} has no topics but Kafka's own: name one")
    surveyed = [found[one] for one in sorted(found)]
    _refuse_two_of_a_name(surveyed)
    return surveyed


def parts(surveyed: list[Surveyed], wanted: Asked) -> list[Part]:
    """What tasks read, each about as many bytes as was asked for."""
    return [
        part
        for one in surveyed
        for part in parts_of(
            one.log,
            one.start,
            one.end,
            committed=wanted.committed,
            step_bytes=wanted.part_bytes,
        )
    ]


def _refuse_two_of_a_name(surveyed: list[Surveyed]) -> None:
    """LogError where partitions are of two topics of one name: of a topic that was deleted and made
    again, a disk that was away keeps the old partitions."""
    firsts: dict[str, PartitionLog] = {}
    for log in (one.log for one in surveyed):
        if log.topic_id is None:
            continue
        first = firsts.setdefault(log.topic, log)
        if first.topic_id != log.topic_id:
            raise LogError(
                f"{first.folder} and {log.folder} are of two topics named {log.topic} (ids "
                f"{first.topic_id} and {log.topic_id}: it was deleted and made again): read the "
                "folders of one of them"
            )


def _meant(folder: DataFolder, wanted: Asked) -> list[Found]:
    if wanted.partitions is not None:
        named = wanted.partitions
        return [one for one in folder.partitions if (one.topic, one.partition) in named]
    if wanted.topics:
        return [one for one in folder.partitions if one.topic in wanted.topics]
    return [one for one in folder.partitions if not one.topic.startswith("__")]


def _bounded(
    log: PartitionLog,
    found: Found,
    wanted: Asked,
    cluster_id: str | None,
    notes: tuple[str, ...],
) -> Surveyed:
    """From where to where this reader goes. Raises LogError for offsets that are not there."""
    name = f"{log.topic}-{log.partition}"
    last = log.stable_end if wanted.committed else log.end
    if wanted.to_high_watermark:
        if found.high_watermark is None:
            raise LogError(
                f"{name}: no replication-offset-checkpoint tells its high watermark; read it with "
                "bound=log.end"
            )
        last = max(min(last, found.high_watermark), log.log_start)
    start = wanted.starts.get((log.topic, log.partition), _EARLIEST)
    if start == _EARLIEST:
        start = log.log_start
    end = wanted.ends.get((log.topic, log.partition), _LATEST)
    if end == _LATEST:
        end = last
    if not log.log_start <= start <= log.end or not log.log_start <= end <= log.end:
        raise LogError(
            f"{name} holds offsets {log.log_start} to before {log.end}: {start} to before {end} "
            "is not in it"
        )
    if wanted.start_ms is not None:
        of_time = log.offset_of_time(wanted.start_ms)
        start = max(start, log.end if of_time is None else of_time)
    if wanted.end_ms is not None:
        of_time = log.offset_of_time(wanted.end_ms)
        end = min(end, log.end if of_time is None else of_time)
    end = min(end, last)
    return Surveyed(log, min(start, end), end, cluster_id, notes)


def _path(text: str) -> str:
    """Of this machine; `file:` in front is no matter."""
    path = text.strip()
    scheme, colon, rest = path.partition(":")
    if colon and scheme == "file":
        return "/" + rest.lstrip("/")
    if colon and rest.startswith("//"):
        raise LogError(f"{path}: folders are read from a disk that all of Spark sees, by its path")
    return path


def _number(given: Mapping[str, str], key: str) -> int | None:
    text = given.get(key)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise LogError(f"option {key} is {text}: a whole number is wanted") from None


def _assigned(given: Mapping[str, str]) -> tuple[tuple[str, int], ...] | None:
    text = given.get("assign")
    if text is None:
        return None
    try:
        return tuple(
            (str(topic), int(one)) for topic, several in json.loads(text).items() for one in several
        )
    except (ValueError, AttributeError, TypeError):
        raise LogError(
            f'option assign is {text}: JSON such as {{"topic": [0, 1]}} is wanted'
        ) from None


def _offsets(
    given: Mapping[str, str], key: str, word: str, standing_for: int
) -> dict[tuple[str, int], int]:
    text = given.get(key, word)
    if text.lower() == word:
        return {}
    try:
        found = {
            (str(topic), int(partition)): int(offset)
            for topic, partitions in json.loads(text).items()
            for partition, offset in partitions.items()
        }
    except (ValueError, AttributeError, TypeError):
        found = {("", 0): -9}
    if any(offset < 0 and offset != standing_for for offset in found.values()):
        raise LogError(
            f'option {key} is {text}: {word}, or JSON such as {{"topic": {{"0": 23}}}} is wanted'
        )
    return found
