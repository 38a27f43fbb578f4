"""What is read, made into records and those into batches that a topic takes.

Owns the words of a line: its key, its headers, JSON as `ottla consume --json` prints it; and how
much goes into a batch. `now_ms` comes in. Never: reads a file or knows a socket (`Sends`).
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from broker.config.start_error import StartError
from client.core.producing import NewRecord, Producer, batch_of, in_batches
from client.records.encoding import RECORDS_MAX, build_batch, headers_of, records_of
from client.records.partitioning import Partitioner
from protocol.record_batch import HEADER_SIZE
from protocol.records import Headers

BATCH_BYTES = 512 * 1024
_RECORD_OVERHEAD_BYTES = 24
"""A record's numbers, at most, without its headers."""


class Sends(Protocol):
    """Where batches go (`writing.Writer`)."""

    @property
    def partitions(self) -> int:
        """How many there are."""

    def send(self, partition: int, records: int, build: Callable[[Producer], bytearray]) -> None:
        """Send a batch."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What was said about the records."""

    key: bytes | None = None
    separator: bytes | None = None
    headers: Headers = ()
    as_json: bool = False
    whole: bool = False
    partition: int | None = None
    codec: int = 0

    @classmethod
    def of(cls, said: Mapping[str, object], *, whole: bool, codec: int) -> Settings:
        """From a command's options. Raises StartError for those that do not go together."""
        key, separator = said["key"], said["key_separator"]
        as_json = bool(said["as_json"])
        texts = said["headers"]
        assert isinstance(texts, tuple)
        if as_json and (key or separator or whole or texts):
            raise StartError("--json lines have their own keys and headers: leave the others out")
        if separator is not None and (key is not None or whole):
            raise StartError("--key-separator finds a key in each line: leave --key, --whole out")
        if separator == "":
            raise StartError("--key-separator is empty")
        number = said["partition"]
        return cls(
            key=_bytes_of(key),
            separator=_bytes_of(separator),
            headers=tuple(_header_of(one) for one in texts),
            as_json=as_json,
            whole=whole,
            partition=number if isinstance(number, int) else None,
            codec=codec,
        )


class Batching:
    """Takes lines; sends batches. Raises StartError for a line that is no record."""

    def __init__(
        self,
        settings: Settings,
        topic: str,
        bytes_max: int | None,
        to: Sends,
        now_ms: Callable[[], int],
    ) -> None:
        """`bytes_max`: of a batch; None where it is not known."""
        self.settings = settings
        self._topic = topic
        self._bytes_max = bytes_max or BATCH_BYTES
        self._to = to
        self._now_ms = now_ms
        self._partitioner = Partitioner(to.partitions, now_ms())
        self._headers = headers_of(settings.headers)
        self._rest = b""
        self._name, self._line = "", 0
        self.records = 0
        self.bytes_read = 0
        if settings.partition is not None and settings.partition >= to.partitions:
            last, number = to.partitions - 1, settings.partition
            raise StartError(f"topic {topic} has partitions 0 to {last}, and no {number}")

    def begin(self, name: str) -> None:
        """What follows is of the file `name`."""
        self._name, self._line, self._rest = name, 0, b""

    def lines(self, data: bytes) -> None:
        """Take what comes next of the file; a line that does not end yet is kept."""
        self.bytes_read += len(data)
        lines = data.split(b"\n")
        lines[0] = self._rest + lines[0]
        self._rest = lines.pop()
        self._send_lines(lines)

    def end(self) -> None:
        """The file is over: what is left of it is a line, too."""
        if self._rest:
            self._send_lines([self._rest])
            self._rest = b""

    def whole(self, name: str, data: bytes) -> None:
        """A file that is one record."""
        self.begin(name)
        self.bytes_read += len(data)
        self._send_lines([data])

    def tombstone(self) -> None:
        """A record that has the key and no value."""
        assert self.settings.key is not None
        record = NewRecord(self.settings.key, None, self.settings.headers, None)
        self._send_parsed({self._partition_of(record.key): [record]})

    # --- lines ------------------------------------------------------------------------------------

    def _send_lines(self, lines: Sequence[bytes]) -> None:
        if not lines:
            return
        if self.settings.as_json:
            self._send_json(lines)
        elif self.settings.separator is not None:
            self._send_keyed(lines, self.settings.separator)
        elif self.settings.key is not None:
            where = self._partition_of(self.settings.key)
            self._send_fitting(lines, [self.settings.key] * len(lines), where, self._line)
        else:
            self._send_fitting(lines, None, None, self._line)
        self._line += len(lines)

    def _send_fitting(
        self,
        values: Sequence[bytes],
        keys: Sequence[bytes] | None,
        partition: int | None,
        line: int,
    ) -> None:
        """Send them in as many batches as it takes."""
        count = len(values)
        overhead = _RECORD_OVERHEAD_BYTES + len(self._headers)
        size = HEADER_SIZE + sum(map(len, values)) + overhead * count
        size += sum(map(len, keys)) if keys is not None else 0
        limit = min(self._bytes_max, BATCH_BYTES) if count > 1 else self._bytes_max
        if count == 1 and size > max(limit, BATCH_BYTES):
            raise StartError(
                f"{self._name}, line {line + 1}: a record of {len(values[0])} bytes is larger than "
                f"max.message.bytes of topic {self._topic}, {self._bytes_max}"
            )
        if count > 1 and (size > limit or count > RECORDS_MAX):
            half = min(count // 2, RECORDS_MAX)
            first = None if keys is None else keys[:half]
            second = None if keys is None else keys[half:]
            self._send_fitting(values[:half], first, partition, line)
            self._send_fitting(values[half:], second, partition, line + half)
            return
        body = records_of(values, keys, self._headers)
        build = partial(build_batch, body, count, self._now_ms(), self.settings.codec)
        self.records += count
        self._to.send(self._batch_partition() if partition is None else partition, count, build)

    def _send_keyed(self, lines: Sequence[bytes], separator: bytes) -> None:
        keys: dict[int, list[bytes]] = {}
        values: dict[int, list[bytes]] = {}
        fixed, of_key = self.settings.partition, self._partitioner.of_key
        for number, line in enumerate(lines):
            key, found, value = line.partition(separator)
            if not found:
                raise StartError(
                    f"{self._name}, line {self._line + number + 1}: there is no "
                    f"{separator.decode(errors='replace')!r} behind a key"
                )
            where = of_key(key) if fixed is None else fixed
            if where in keys:
                keys[where].append(key)
                values[where].append(value)
            else:
                keys[where], values[where] = [key], [value]
        for where, found_values in values.items():
            self._send_fitting(found_values, keys[where], where, self._line)

    def _batch_partition(self) -> int:
        fixed = self.settings.partition
        return self._partitioner.of_batch() if fixed is None else fixed

    def _partition_of(self, key: bytes | None) -> int:
        if self.settings.partition is not None:
            return self.settings.partition
        return self._partitioner.of_batch() if key is None else self._partitioner.of_key(key)

    # --- JSON -------------------------------------------------------------------------------------

    def _send_json(self, lines: Sequence[bytes]) -> None:
        by_partition: dict[int, list[NewRecord]] = {}
        keyless = self._batch_partition()
        for number, line in enumerate(lines):
            if not line.strip():
                continue
            try:
                record = parse_json(line)
            except ValueError as error:
                raise StartError(
                    f"{self._name}, line {self._line + number + 1}: {error}"
                ) from error
            where = keyless if record.key is None else self._partition_of(record.key)
            by_partition.setdefault(where, []).append(record)
        self._send_parsed(by_partition)

    def _send_parsed(self, by_partition: Mapping[int, Sequence[NewRecord]]) -> None:
        for where, records in by_partition.items():
            for batch in in_batches(records, min(self._bytes_max, BATCH_BYTES)):
                self.records += len(batch)
                build = partial(batch_of, batch, self._now_ms(), self.settings.codec)
                self._to.send(where, len(batch), build)


def parse_json(line: bytes) -> NewRecord:
    """A line of `ottla consume --json`; of its names `value` or `value_base64` has to be there.

    A value that is no text but an object, a list or a number is written as JSON. Raises ValueError,
    with one line for a person.
    """
    try:
        found = json.loads(line)
    except ValueError as error:
        raise ValueError(f"this is not JSON ({error})") from error
    if not isinstance(found, dict) or not ("value" in found or "value_base64" in found):
        raise ValueError('a record is an object with a "value", such as {"value": "hello"}')
    stamp = found.get("timestamp")
    if stamp is not None and (not isinstance(stamp, int) or stamp < 0):
        raise ValueError('"timestamp" is milliseconds since 1970')
    headers = found.get("headers") or []
    if isinstance(headers, dict):
        headers = [{"key": key, "value": value} for key, value in headers.items()]
    return NewRecord(
        _data_of(found, "key"), _data_of(found, "value"), tuple(map(_parsed_header, headers)), stamp
    )


def _parsed_header(found: object) -> tuple[str, bytes | None]:
    if not isinstance(found, dict) or not isinstance(found.get("key"), str):
        raise ValueError('a header is an object with a "key" and a "value"')
    return found["key"], _data_of(found, "value")


def _data_of(found: Mapping[str, object], name: str) -> bytes | None:
    packed = found.get(f"{name}_base64")
    if isinstance(packed, str):
        return b64decode(packed, validate=True)
    value = found.get(name)
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def _bytes_of(value: object) -> bytes | None:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else None


def _header_of(text: str) -> tuple[str, bytes | None]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise StartError(f"--header {text}: write it as NAME=VALUE")
    return name, value.encode("utf-8", "surrogateescape")
