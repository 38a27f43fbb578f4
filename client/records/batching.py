"""Input lines of `ottla produce`, made into records and into batches that the topic accepts.

Owns the format of a line: its key, its headers, JSON as `ottla consume --json` prints it; and the
size of a batch. The caller passes `now_ms`. Never reads a file or uses a socket (`BatchSender`
does).
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
from client.records.json_texts import item_texts, member_texts
from client.records.partitioning import Partitioner
from client.records.separators import separator_of
from protocol.record_batch import HEADER_SIZE, NO_TIMESTAMP
from protocol.records import Headers

BATCH_BYTES = 512 * 1024
_RECORD_OVERHEAD_BYTES = 24
"""The largest size of a record's numbers, without its headers."""


class BatchSender(Protocol):
    """A sender of batches to the partitions of a topic (`writing.Writer`)."""

    @property
    def partitions(self) -> int:
        """The number of the topic's partitions."""

    def send(self, partition: int, records: int, build: Callable[[Producer], bytearray]) -> None:
        """Send a batch with this number of records; `build` makes it for a producer."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of a command about the records that it produces.

    `separator` stands between the key and the value of a line. `whole`: a file is one record.
    `partition` None: chosen by key.
    """

    key: bytes | None = None
    separator: bytes | None = None
    headers: Headers = ()
    as_json: bool = False
    whole: bool = False
    partition: int | None = None
    codec: int = 0

    @classmethod
    def of(cls, options: Mapping[str, object], *, whole: bool, codec: int) -> Settings:
        """Return the settings in a command's options.

        Raises StartError if options exclude each other.
        """
        key, separator = options["key"], options["key_separator"]
        assert separator is None or isinstance(separator, str)
        as_json = bool(options["as_json"])
        texts = options["headers"]
        assert isinstance(texts, tuple)
        if as_json and (key or separator or whole or texts):
            raise StartError("--json lines have their own keys and headers: leave the others out")
        if separator is not None and (key is not None or whole):
            raise StartError("--key-separator finds a key in each line: leave --key, --whole out")
        if separator == "":
            raise StartError("--key-separator is empty")
        number = options["partition"]
        return cls(
            key=_bytes_of(key),
            separator=None if separator is None else separator_of("--key-separator", separator),
            headers=tuple(_header_of(text) for text in texts),
            as_json=as_json,
            whole=whole,
            partition=number if isinstance(number, int) else None,
            codec=codec,
        )


_JSON_BYTES_A_BYTE = 6
"""The most bytes of JSON that stand for one byte of a record, as in `\\u001b`."""


class NoRecord(StartError):
    """A line or a file that is no valid record; all records before it were sent."""


class Batching:
    """A converter of lines into batches, which it sends.

    Raises NoRecord for a line that is no valid record.
    """

    def __init__(
        self,
        settings: Settings,
        topic: str,
        bytes_max: int | None,
        sender: BatchSender,
        now_ms: Callable[[], int],
    ) -> None:
        """Begin without lines; `bytes_max`: the largest batch of the topic, None if not known.

        Raises StartError if the topic lacks the settings' partition.
        """
        self.settings = settings
        self._topic = topic
        self._bytes_max = bytes_max or BATCH_BYTES
        self._sender = sender
        self._now_ms = now_ms
        self._partitioner = Partitioner(sender.partitions, now_ms())
        self._headers = headers_of(settings.headers)
        self._rest: list[bytes] = []
        """The parts read so far of a line whose end has not come yet."""
        self._rest_bytes = 0
        self._name, self._line = "", 0
        self.records = 0
        self.bytes_read = 0
        if settings.partition is not None and settings.partition >= sender.partitions:
            last, number = sender.partitions - 1, settings.partition
            raise StartError(f"topic {topic} has partitions 0 to {last}, and no {number}")

    def begin(self, name: str) -> None:
        """Begin the input file `name`, which errors then name, at its first line. An incomplete
        line of an earlier file is dropped."""
        self._name, self._line = name, 0
        self._take_rest()

    def lines(self, data: bytes) -> None:
        """Send the complete lines of the file's next bytes; keep the rest of an incomplete one.

        Raises NoRecord at a line that is too large or no record, after the lines before it are
        sent.
        """
        self.bytes_read += len(data)
        lines = data.split(b"\n")
        last = lines.pop()
        if lines:
            lines[0] = self._take_rest() + lines[0]
            self._send_lines(lines)
        self._rest.append(last)
        self._rest_bytes += len(last)
        if self._rest_bytes > self._line_bytes_max:
            raise self._too_large(f"more than {self.record_bytes_max}", self._line)

    def end(self) -> None:
        """End the file: send what is left of it as its last line."""
        if self._rest_bytes:
            self._send_lines([self._take_rest()])

    def whole(self, name: str, data: bytes) -> None:
        """Send a file as one record.

        Raises NoRecord if `data` is longer than `record_bytes_max`. So the caller need not read a
        file further than one byte beyond that.
        """
        self.begin(name)
        self.bytes_read += len(data)
        if len(data) > self.record_bytes_max:
            raise self._too_large(f"more than {self.record_bytes_max}", self._line)
        self._send_lines([data])

    @property
    def record_bytes_max(self) -> int:
        """The size above which a record is too large for the topic, in bytes; at least
        BATCH_BYTES."""
        return max(self._bytes_max, BATCH_BYTES)

    def tombstone(self) -> None:
        """Send a record with the key of the settings and no value."""
        assert self.settings.key is not None
        record = NewRecord(self.settings.key, None, self.settings.headers, None)
        self._send_parsed({self._partition_of(record.key): [record]})

    @property
    def _line_bytes_max(self) -> int:
        """The size above which an incomplete line cannot become a record, in bytes."""
        if self.settings.as_json:
            return _JSON_BYTES_A_BYTE * self.record_bytes_max
        return self.record_bytes_max + len(self.settings.separator or b"")

    def _take_rest(self) -> bytes:
        """Return the incomplete line that was read so far, and clear it."""
        rest = b"".join(self._rest)
        self._rest.clear()
        self._rest_bytes = 0
        return rest

    # --- lines ------------------------------------------------------------------------------------

    def _send_lines(self, lines: Sequence[bytes]) -> None:
        """Send whole lines as records, as the settings say, and count them as lines of the input.

        Raises NoRecord at a line that is no record; those before it are sent.
        """
        if not lines:
            return
        if self.settings.as_json:
            self._send_json(lines)
        elif self.settings.separator is not None:
            self._send_keyed(lines, self.settings.separator)
        elif self.settings.key is not None:
            partition = self._partition_of(self.settings.key)
            self._send_fitting(lines, [self.settings.key] * len(lines), partition, self._line)
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
        """Send records in as many batches as their size needs.

        `line` is the line number of the first record. `partition` None: each batch goes to the next
        partition. Raises NoRecord.
        """
        count = len(values)
        overhead = _RECORD_OVERHEAD_BYTES + len(self._headers)
        size = HEADER_SIZE + sum(map(len, values)) + overhead * count
        size += sum(map(len, keys)) if keys is not None else 0
        limit = min(self._bytes_max, BATCH_BYTES) if count > 1 else self._bytes_max
        if count == 1 and size > self.record_bytes_max:
            raise self._too_large(str(len(values[0])), line)
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
        self._sender.send(self._batch_partition() if partition is None else partition, count, build)

    def _too_large(self, size: str, line: int) -> NoRecord:
        """Return the error of a record of `size` bytes in line `line` (the first: 0)."""
        return NoRecord(
            f"{self._name}, line {line + 1}: a record of {size} bytes is larger than "
            f"max.message.bytes of topic {self._topic}, {self._bytes_max}"
        )

    def _send_keyed(self, lines: Sequence[bytes], separator: bytes) -> None:
        """Send lines that have a key before the separator.

        Raises NoRecord at the first line without one, after the lines before it are sent.
        """
        keys: dict[int, list[bytes]] = {}
        values: dict[int, list[bytes]] = {}
        fixed, of_key = self.settings.partition, self._partitioner.of_key
        refusal: NoRecord | None = None
        for number, line in enumerate(lines):
            key, separator_found, value = line.partition(separator)
            if not separator_found:
                refusal = NoRecord(
                    f"{self._name}, line {self._line + number + 1}: there is no "
                    f"{separator.decode(errors='replace')!r} behind a key"
                )
                break
            partition = of_key(key) if fixed is None else fixed
            if partition in keys:
                keys[partition].append(key)
                values[partition].append(value)
            else:
                keys[partition], values[partition] = [key], [value]
        for partition, partition_values in values.items():
            self._send_fitting(partition_values, keys[partition], partition, self._line)
        if refusal is not None:
            raise refusal

    def _batch_partition(self) -> int:
        """Return the partition of the settings, else the one for the next batch without keys."""
        fixed = self.settings.partition
        return self._partitioner.of_batch() if fixed is None else fixed

    def _partition_of(self, key: bytes | None) -> int:
        """Return the partition of the settings, else that of the key; for a key of None, the one
        for the next batch without keys."""
        if self.settings.partition is not None:
            return self.settings.partition
        return self._partitioner.of_batch() if key is None else self._partitioner.of_key(key)

    # --- JSON -------------------------------------------------------------------------------------

    def _send_json(self, lines: Sequence[bytes]) -> None:
        """Send lines that are JSON objects; skip blank lines.

        Raises NoRecord at the first line that is no record, after those before it are sent.
        """
        by_partition: dict[int, list[NewRecord]] = {}
        keyless = self._batch_partition()
        refusal: NoRecord | None = None
        for number, line in enumerate(lines):
            if not line.strip():
                continue
            try:
                record = parse_json(line)
            except ValueError as error:
                refusal = NoRecord(f"{self._name}, line {self._line + number + 1}: {error}")
                break
            partition = keyless if record.key is None else self._partition_of(record.key)
            by_partition.setdefault(partition, []).append(record)
        self._send_parsed(by_partition)
        if refusal is not None:
            raise refusal

    def _send_parsed(self, by_partition: Mapping[int, Sequence[NewRecord]]) -> None:
        """Send each partition's records in batches, and count the records."""
        for partition, records in by_partition.items():
            for batch in in_batches(records, min(self._bytes_max, BATCH_BYTES)):
                self.records += len(batch)
                build = partial(batch_of, batch, self._now_ms(), self.settings.codec)
                self._sender.send(partition, len(batch), build)


def parse_json(line: bytes) -> NewRecord:
    """Return the record in a line of JSON as `ottla consume --json` prints it.

    The line needs `value` or `value_base64`. A value that is no string, such as an object or a
    number, becomes its text in the line. Raises ValueError, whose text is one line for the user.
    """
    try:
        text = line.decode(json.detect_encoding(line), "surrogatepass")
        members = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is not JSON ({error})") from error
    if not isinstance(members, dict) or not ("value" in members or "value_base64" in members):
        raise ValueError('a record is an object with a "value", such as {"value": "hello"}')
    stamp = members.get("timestamp")
    if stamp is not None and (not isinstance(stamp, int) or not NO_TIMESTAMP <= stamp < 1 << 63):
        raise ValueError('"timestamp" is milliseconds since 1970')
    key, value = _data_of(members, "key", text), _data_of(members, "value", text)
    return NewRecord(key, value, _headers_of_object(members.get("headers"), text), stamp)


def _headers_of_object(headers: object, text: str) -> tuple[tuple[str, bytes | None], ...]:
    """Return the headers of a JSON record, a list or an object.

    Raises ValueError if they are neither.
    """
    if not headers:
        return ()
    text = member_texts(text)["headers"]
    if isinstance(headers, dict):
        return tuple((name, _data_of(headers, name, text)) for name in headers)
    if not isinstance(headers, list):
        raise ValueError('"headers" are a list, or an object')
    return tuple(map(_parsed_header, headers, item_texts(text)))


def _parsed_header(header: object, text: str) -> tuple[str, bytes | None]:
    """Return the header of a JSON object. Raises ValueError if it is no such object."""
    if not isinstance(header, dict) or not isinstance(header.get("key"), str):
        raise ValueError('a header is an object with a "key" and a "value"')
    return header["key"], _data_of(header, "value", text)


def _data_of(members: Mapping[str, object], name: str, text: str) -> bytes | None:
    """Return the key, value or header value `name` of a JSON object as bytes, None if it has none.

    `text` is the JSON text of the object. Raises ValueError for invalid base64.
    """
    packed = members.get(f"{name}_base64")
    if isinstance(packed, str):
        return b64decode(packed, validate=True)
    value = members.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        value = member_texts(text)[name]
    return value.encode("utf-8", "surrogatepass")


def _bytes_of(value: object) -> bytes | None:
    """Return a text as UTF-8; None for any other value."""
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else None


def _header_of(text: str) -> tuple[str, bytes | None]:
    """Return the header in `NAME=VALUE`. Raises StartError if the text has another form."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise StartError(f"--header {text}: write it as NAME=VALUE")
    return name, value.encode("utf-8", "surrogateescape")
