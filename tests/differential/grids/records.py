"""Record sets in Produce: whole, damaged, compressed, of producers, in topics of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.differential.generate import Versions
from tests.differential.grids.steps import batch_of, create, init, produce
from tests.differential.record_sets import NOW_MS
from tests.differential.sequence import Sequence
from tests.golden.damaged_batches import CASES

TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "compacted": {"cleanup_policy": "compact"},
    "append time": {"message_timestamp_type": "LogAppendTime"},
    "gzip": {"compression_type": "gzip"},
    "uncompressed": {"compression_type": "uncompressed"},
    "small": {"max_message_bytes": "120"},
    "small when unpacked": {"max_decompressed_message_bytes": "1000"},
    "after": {"message_timestamp_after_max_ms": "1000", "message_timestamp_before_max_ms": "1000"},
}
FAR_MS = 4_000_000_000_000
OWN: dict[str, list[dict[str, Any]]] = {
    "one": [{"n": 1}],
    "three": [{"n": 3}],
    "two batches": [{"n": 1}, {"n": 2}],
    "three batches": [{"n": 1}, {"n": 1}, {"n": 1}],
    "a good batch and a wrong crc": [{"n": 1}, {"n": 1, "crc": "wrong"}],
    "a wrong crc and a good batch": [{"n": 1, "crc": "wrong"}, {"n": 1}],
    "wrong crc": [{"n": 1, "crc": "wrong"}],
    "a good batch and half a one": [{"n": 1}, {"n": 1, "cut": 5}],
    "a good batch and an old one": [{"n": 1}, {"old": 1}],
    "no records": [{"n": 0}],
    "no records, delta -1": [{"n": 0, "set": {"last_offset_delta": -1, "count": 0}}],
    "null key": [{"n": 2, "key": None}],
    "tombstone": [{"n": 2, "tombstone": True}],
    "empty value": [{"n": 1, "size": 0}],
    "large": [{"n": 1, "size": 2000}],
    "large, packed": [{"n": 1, "size": 20_000, "codec": 1}],
    "headers": [{"n": 1, "headers": ["a", "a", ""]}],
    "timestamp -1": [{"n": 1, "ts": -1}],
    "timestamp 0": [{"n": 2, "ts": 0}],
    "timestamp -2": [{"n": 1, "ts": -2}],
    "timestamps that go back": [{"n": 3, "step": -5}],
    "far timestamp": [{"n": 1, "ts": FAR_MS}],
    "far header": [{"n": 1, "set": {"max_timestamp": FAR_MS}}],
    "max timestamp too large": [{"n": 1, "set": {"max_timestamp": NOW_MS + 5}}],
    "leader epoch 7": [{"n": 1, "set": {"leader_epoch": 7}}],
    "offsets from 5": [{"n": 1, "set": {"base_offset": 5}}],
    "negative offset": [{"n": 1, "set": {"base_offset": -3}}],
    "all attributes": [{"n": 1, "set": {"attributes": -1 & ~0x3F}}],
    "append time bit": [{"n": 1, "set": {"attributes": 8}}],
    "append time and unused": [{"n": 1, "set": {"attributes": 8 | 0x80}}],
    "horizon bit": [{"n": 1, "set": {"attributes": 0x40}}],
    "control": [{"n": 1, "control": True}],
    "control of a producer": [{"n": 1, "control": True, "pid": 7, "epoch": 0, "seq": 0}],
    "packed wrongly": [{"n": 1, "set": {"attributes": 3}}],
    "count 5 of 1": [{"n": 1, "set": {"count": 5}}],
    "delta 5 of 1": [{"n": 1, "set": {"last_offset_delta": 5}}],
    "delta and count 5 of 1": [{"n": 1, "set": {"last_offset_delta": 4, "count": 5}}],
    **{f"codec {codec}": [{"n": 3, "codec": codec}] for codec in (1, 2, 3, 4)},
    **{f"codec {codec}, large": [{"n": 3, "codec": codec, "size": 500}] for codec in (1, 2, 3, 4)},
    **{f"codec {codec} and none": [{"n": 1, "codec": codec}, {"n": 1}] for codec in (1, 4)},
    **{f"pid {pid}": [{"n": 1, "pid": pid, "epoch": 0, "seq": 0}] for pid in (-2, 4_100_000)},
    **{f"epoch {e}": [{"n": 1, "pid": 4_100_000, "epoch": e, "seq": 0}] for e in (-1, -2, 32_767)},
    **{
        f"sequence {seq}": [{"n": 2, "pid": 4_100_000, "epoch": 0, "seq": seq}]
        for seq in (-1, -2, 1, 2**31 - 1)
    },
}


def grid(versions: Versions) -> Iterator[Sequence]:
    """Each record set in each kind of topic; every version of Produce with some of them."""
    latest = versions["PRODUCE"][1]
    sets: dict[str, Any] = {f"golden {n}": _hex(data) for n, (_, data) in CASES.items()} | OWN
    for kind, configs in TOPICS.items():
        for name, records in sets.items():
            steps = [create("~t0", **configs), produce(records, version=11)]
            yield Sequence(f"records {name}, {kind}", steps)
    for version in range(3, latest + 1):
        for name in ("one", "wrong crc", "codec 4", "a good batch and an old one", "control"):
            for acks in (-1, 0, 1, 2, -2):
                steps = [create("~t0"), produce(OWN[name], version=version, acks=acks)]
                yield Sequence(f"records {name}, v{version}, acks {acks}", steps)
    yield from _of_producers(latest)


def _hex(data: bytes | None) -> Any:
    return None if data is None else {"$hex": data.hex()}


def _of_producers(latest: int) -> Iterator[Sequence]:
    """What an idempotent producer sends twice, out of order, as another, over more batches."""
    ways: dict[str, list[list[dict[str, Any]]]] = {
        "twice": [[_own()], [_own(-1)]],
        "thrice, then the first": [[_own()], [_own()], [_own()], [_own(-3)]],
        "six, then the first": [[_own()]] * 6 + [[_own(-6)]],
        "a gap": [[_own()], [_own(1)]],
        "another count": [[_own(n=2)], [_own(-2, n=1)]],
        "two batches in one": [[_own(), _own()]],
        "an older epoch": [[_own()], [{**_own(), "epoch": -1}]],
        "a newer epoch": [[_own()], [{**_own(), "epoch": 5, "seq": 0}]],
        "a newer epoch in the midst": [[_own()], [{**_own(), "epoch": 5}]],
        "not transactional": [[_own(txn=True)]],
    }
    for kind in ("plain", "append time"):
        for version in (9, latest):
            for name, sets in ways.items():
                steps = [create("~t0", **TOPICS[kind]), init(None)]
                steps += [produce(one, version=version) for one in sets]
                yield Sequence(f"producer {name}, v{version}, {kind}", steps)


def _own(add: int = 0, **other: Any) -> dict[str, Any]:
    batch = batch_of("idempotent-0", **other)
    if add:
        batch["seq"]["add"] = add
    return batch
