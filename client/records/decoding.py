"""Fast extraction of values and keys from a batch's records, for `ottla consume`.

Neighbouring records of one shape (equal length, numbers of equal width) are extracted by slices;
others are walked in one loop without calls. Never decodes headers (`protocol.records` returns whole
records). Bytes that are no records raise CorruptBatch.

Follows Kafka's `DefaultRecord`; `protocol.records` describes the layout.
"""

from __future__ import annotations

from protocol.record_batch import CorruptBatch
from protocol.record_scan import read_varint, read_varlong

_LAST = bytes(range(0x80))
_CONTINUED = bytes(range(0x80, 0x100))
"""The bytes that end a varint (_LAST), and those after which it continues (_CONTINUED)."""
_ALIKE_MIN = 8
_ODD_MAX = 64
"""The least records of one shape for which slices pay off, and the most that are walked before
the next look for a shape."""


class HasHeadersError(Exception):
    """A record has headers, which `values_of` with `times` would lose."""


def values_of(
    body: bytes,
    count: int,
    keys: list[bytes | None] | None = None,
    times: list[int] | None = None,
) -> list[bytes | None]:
    """Return the values of the `count` records in a batch's decompressed body.

    Appends their keys to `keys`, and their timestamp deltas (ms after the batch's base timestamp)
    to `times`. Raises CorruptBatch, and HasHeadersError if `times` is given and a record has
    headers.
    """
    values: list[bytes | None] = []
    pos = 0
    try:
        while (left := count - len(values)) > 0:
            alike: list[bytes] = []
            if left >= _ALIKE_MIN:
                alike, pos = _values_of_a_shape(body, pos, left, keys, times)
            if alike:
                values += alike
            else:
                pos = _walk(body, pos, min(left, _ODD_MAX), values, keys, times)
    except IndexError:
        raise CorruptBatch("records end within one") from None
    if pos != len(body) or count < 0:
        raise CorruptBatch(f"records end at byte {pos} of {len(body)}")
    return values


def _values_of_a_shape(
    body: bytes,
    pos: int,
    left: int,
    keys: list[bytes | None] | None,
    times: list[int] | None,
) -> tuple[list[bytes], int]:
    """Return the values of the records from `pos` on that have the shape of the first one, and the
    position after them.

    Their keys and timestamp deltas are appended to `keys` and `times`. The list is empty if there
    are fewer than _ALIKE_MIN.
    """
    length, start = read_varint(body, pos)
    _, after_time = read_varlong(body, start + 1)
    _, after_offset = read_varint(body, after_time)
    key_length, key = read_varint(body, after_offset)
    key_end = key + max(key_length, 0)
    value_length, value = read_varint(body, key_end)
    size = start - pos + length
    if length <= 0 or value_length < 0 or value + value_length + 1 != pos + size:
        return [], pos  # a null, or headers
    number = min(left, (len(body) - pos) // size)
    fixed = (*range(pos, start), *range(after_offset, key), *range(key_end, value), pos + size - 1)
    for column in fixed:
        alike = body[column : column + 1]
        number = _leading(body[column : pos + number * size : size], alike)
        if number < _ALIKE_MIN:
            return [], pos
    for first, after in ((start + 1, after_time), (after_time, after_offset)):
        for column in range(first, after):
            wanted = _LAST if column == after - 1 else _CONTINUED
            number = _leading(body[column : pos + number * size : size], wanted)
    if number < _ALIKE_MIN or body[pos + size - 1]:
        return [], pos
    end = pos + number * size
    if times is not None:
        columns = [body[column:end:size] for column in range(start + 1, after_time)]
        times += map(_varlong, zip(*columns, strict=True))
    if keys is not None:
        if key_length < 0:
            keys += [None] * number
        else:
            keys += [body[at : at + key_length] for at in range(key, end, size)]
    return [body[at : at + value_length] for at in range(value, end, size)], end


def _leading(column: bytes, accepted: bytes) -> int:
    """Return the number of bytes at the start of `column` that are all among `accepted`."""
    return len(column) - len(column.lstrip(accepted))


def _varlong(column: tuple[int, ...]) -> int:
    """Return the number of a zigzag varlong whose bytes are `column`."""
    zigzag = 0
    for byte in reversed(column):
        zigzag = zigzag << 7 | byte & 0x7F
    return zigzag >> 1 ^ -(zigzag & 1)


def _walk(  # noqa: C901  a call for each number would take longer than reading it
    body: bytes,
    pos: int,
    count: int,
    values: list[bytes | None],
    keys: list[bytes | None] | None,
    times: list[int] | None,
) -> int:
    """Append the values, keys and timestamp deltas of `count` records to the given lists. Return
    the position after the records.

    Numbers are read inline, because a call takes longer. A record's own length is read only if it
    has headers; with `times`, that raises HasHeadersError.
    """
    append = values.append
    for _ in range(count):
        start = pos
        while body[pos] > 0x7F:
            pos += 1
        pos += 2  # its attributes too
        if times is not None:
            times.append(read_varlong(body, pos)[0])
        while body[pos] > 0x7F:  # the timestamp delta
            pos += 1
        pos += 1
        while body[pos] > 0x7F:  # the offset delta
            pos += 1
        pos += 1
        if body[pos] == 1:
            pos += 1
            if keys is not None:
                keys.append(None)
        else:
            length, pos = read_varint(body, pos)
            if keys is not None:
                keys.append(body[pos : pos + length])
            pos += length
        length = body[pos]
        pos += 1
        if length > 0x7F:
            high = body[pos]
            pos += 1
            length = length & 0x7F | high << 7
            if high > 0x7F:
                length, pos = read_varint(body, pos - 2)
                length <<= 1
        if length & 1 or length < 0:
            append(None)
        else:
            end = pos + (length >> 1)
            append(body[pos:end])
            pos = end
        if body[pos]:
            if times is not None:
                raise HasHeadersError
            length, pos = read_varint(body, start)
            pos += length
        else:
            pos += 1
    return pos
