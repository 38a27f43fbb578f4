"""Record sets as plain data: batches by what is in their headers, whole, damaged or cut.

Owns the layout of a batch's header, once more and plainly: what is spoilt here must not depend on
`protocol.record_batch`. A batch is `{"n": 3, "codec": 1, "set": {"magic": 1}, …}`, see `_batch`.
"""

from __future__ import annotations

import struct
from typing import Any

import crc32c

from protocol.records import RecordBatchBuilder

NOW_MS = 1_700_000_000_000
FIELDS = {
    "base_offset": (0, ">q"),
    "length": (8, ">i"),
    "leader_epoch": (12, ">i"),
    "magic": (16, ">b"),
    "attributes": (21, ">h"),
    "last_offset_delta": (23, ">i"),
    "base_timestamp": (27, ">q"),
    "max_timestamp": (35, ">q"),
    "producer_id": (43, ">q"),
    "producer_epoch": (51, ">h"),
    "base_sequence": (53, ">i"),
    "count": (57, ">i"),
}
CRC_AT, CRC_FROM, HEADER_SIZE = 17, 21, 61


def build_record_set(batches: list[dict[str, Any]]) -> bytes:
    """The batches' bytes, one after the other."""
    return b"".join(_batch(batch) for batch in batches)


def _batch(spec: dict[str, Any]) -> bytes:
    if "hex" in spec:
        return bytes.fromhex(spec["hex"])
    if "old" in spec:
        return _old_message(spec["old"])
    builder = RecordBatchBuilder(
        compression=spec.get("codec", 0),
        producer_id=spec.get("pid", -1),
        producer_epoch=spec.get("epoch", -1),
        base_sequence=spec.get("seq", -1),
        is_transactional=spec.get("txn", False),
        is_control=spec.get("control", False),
    )
    base = spec.get("ts", NOW_MS)
    count = spec.get("n", 1)
    for index in range(max(1, count)):
        key = spec.get("key", "k")
        value = None if spec.get("tombstone") else b"v" * spec.get("size", 10)
        builder.append(
            None if key is None else f"{key}{index}".encode(),
            value,
            base + index * spec.get("step", 1),
            [(name, None) for name in spec.get("headers", [])],
            -1,
        )
    data = builder.build()
    if not count:
        del data[HEADER_SIZE:]
        spec = {**spec, "set": {"length": HEADER_SIZE - 12, "count": 0} | spec.get("set", {})}
    for name, value in spec.get("set", {}).items():
        at, form = FIELDS[name]
        struct.pack_into(form, data, at, value)
    for at, byte in spec.get("put", []):
        data[at] = byte
    struct.pack_into(">I", data, CRC_AT, crc32c.crc32c(bytes(data[CRC_FROM:])))
    if spec.get("crc") == "wrong":
        data[CRC_AT] ^= 0xFF
    if "cut" in spec:
        del data[len(data) - spec["cut"] :]
    return bytes(data) + bytes.fromhex(spec.get("behind", ""))


def _old_message(magic: int) -> bytes:
    """A message of the format before 0.11: magic 0, or 1 with a timestamp."""
    timestamp = struct.pack(">q", NOW_MS) if magic else b""
    content = struct.pack(">bb", magic, 0) + timestamp + struct.pack(">i1si1s", 1, b"k", 1, b"v")
    return struct.pack(">qiI", 0, len(content) + 4, 0) + content
