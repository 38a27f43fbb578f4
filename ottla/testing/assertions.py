"""Assertions about topics and groups, which wait for what a test expects.

Each waits until the expectation is met, for at most `timeout` seconds. Otherwise it raises
NotAsExpected, an AssertionError, whose text says what there is instead. They block: if the
application runs in the event loop of a coroutine, call them by `asyncio.to_thread`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from ottla.testing.errors import Misuse
from ottla.testing.frames import Json
from ottla.testing.records import Content, Record, content
from ottla.testing.topic import CALL_MARGIN_S, Call, NotAsExpected, Topic, counted, some

ANY: Content = object()
"""A key or value that matches every content."""
POLL_S = 0.01
_STATES = (
    "Stable",
    "Empty",
    "Dead",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
)
"""Kafka's names of the states of groups; the last two are those of the newer protocol (KIP-848)."""
SHOWN = 10
"""The lines that a text shows at most."""
SHARE = "share"
"""The type of share groups."""

Matches = Callable[[Record], bool]


def produced(
    topic: Topic,
    *,
    key: Content = ANY,
    value: Content = ANY,
    headers: Mapping[str, bytes | str | None] | None = None,
    partition: int | None = None,
    count: int | None = None,
    timeout: float,
) -> list[Record]:
    """Wait until a topic has records that match, and return them: at least one, or exactly `count`.

    Reads from the start of the topic, without records of open and aborted transactions. Raises
    NotAsExpected after `timeout` seconds, or as soon as more than `count` match. With `count` 0 the
    topic must have no such record now; this is checked once, without waiting.
    """
    __tracebackhide__ = True
    matches = matcher(key, value, headers, partition)
    wanted = expectation(key, value, headers, partition)
    positions: dict[str, int] = {}
    every: list[Record] = []
    deadline = time.monotonic() + timeout
    exists = False
    while True:
        new_records, exists = topic.read_on(positions, timeout, None)
        every += new_records
        matching = [record for record in every if matches(record)]
        enough = bool(matching) if count is None else len(matching) >= count
        left = deadline - time.monotonic()
        if enough or left <= 0:
            break
        late_records, exists = topic.read_on(positions, left, 1)
        every += late_records
    if count is not None and len(matching) > count or not enough:
        words = "a record" if count is None else counted(count)
        raise NotAsExpected(
            f"{words} with {wanted} expected in {topic.label} within {timeout:g} s, "
            f"{len(matching)} found: " + _records_there(topic, every, exists)
        )
    return matching


def committed(
    call: Call,
    group: str,
    topic: Topic,
    *,
    lag: int | None = None,
    offsets: Mapping[int, int] | None = None,
    timeout: float,
) -> None:
    """Wait until a group has committed these `offsets` (by partition), or has this `lag` in total.
    Without both, `lag` is 0; with both, both must hold. The offset of a share group is that before
    which all records are finished. Raises NotAsExpected after `timeout` seconds."""
    __tracebackhide__ = True
    if offsets is None and lag is None:
        lag = 0

    def is_met(progress: Mapping[str, Json]) -> bool:
        """Return whether the offsets and the lag are as expected in the answer of `group.progress`.

        The lag counts only after a first commit.
        """
        partitions = {
            partition["partition"]: partition
            for partition in progress["partitions"]
            if partition["topic"] == topic.name
        }
        if offsets is not None and any(
            partitions.get(index, {}).get("committed") != offset
            for index, offset in offsets.items()
        ):
            return False
        if lag is None:
            return True
        has = any(partition["committed"] is not None for partition in partitions.values())
        return has and sum(partition["lag"] or 0 for partition in partitions.values()) == lag

    wanted = f"offsets {dict(offsets)}" if offsets is not None else ""
    wanted += " and " if offsets is not None and lag is not None else ""
    wanted += f"a lag of {lag}" if lag is not None else ""
    _wait_for_progress(call, group, [topic], is_met, f"{wanted} in {topic.label}", timeout)


def idle(call: Call, group: str, topics: Iterable[Topic], timeout: float) -> None:
    """Wait until a group does not rebalance, and has committed all records of its partitions and of
    these topics; a share group has finished them. There must be at least one such partition. Raises
    NotAsExpected after `timeout` seconds."""
    __tracebackhide__ = True

    def is_met(progress: Mapping[str, Json]) -> bool:
        """Return whether the group does not rebalance and no partition has a lag; False if there is
        no partition."""
        partitions = progress["partitions"]
        settled = progress["state"] in ("Stable", "Empty", "Dead")
        return (
            settled and bool(partitions) and not any(partition["lag"] for partition in partitions)
        )

    wanted = "all records read and committed"
    _wait_for_progress(call, group, list(topics), is_met, wanted, timeout, "all records finished")


def group_state(call: Call, group: str, *, members: int | None, state: str, timeout: float) -> None:
    """Wait until a group is in a state, with this number of members (None: any). Raises
    NotAsExpected after `timeout` seconds; Misuse if Kafka has no such state."""
    __tracebackhide__ = True
    if state not in _STATES:
        raise Misuse(f"no group is ever {state}: its states are {', '.join(_STATES)}")
    deadline = time.monotonic() + timeout
    while True:
        group_description = call(
            "group.describe", {"group": group}, timeout_s=timeout + CALL_MARGIN_S
        )
        count = len(group_description["members"])
        if group_description["state"] == state and members in (None, count):
            return
        if time.monotonic() >= deadline:
            wanted = state if members is None else f"{state} with {_members(members)}"
            raise NotAsExpected(
                f"group {group} is not {wanted} within {timeout:g} s: "
                + group_text(call, group_description)
            )
        time.sleep(POLL_S)


# --- records -------------------------------------------------------------------------------------


def matcher(
    key: Content,
    value: Content,
    headers: Mapping[str, bytes | str | None] | None,
    partition: int | None,
) -> Matches:
    """Return a function that says whether a record is as expected in all parts. `partition` None:
    any. A record may have more headers than these; the last of a name counts."""
    right_key, right_value = _content_matcher(key), _content_matcher(value)
    wanted = {name: content(expected) for name, expected in (headers or {}).items()}

    def matches(record: Record) -> bool:
        headers_of_record = dict(record.headers)
        return (
            partition in (None, record.partition)
            and all(
                name in headers_of_record and headers_of_record[name] == expected
                for name, expected in wanted.items()
            )
            and right_key(record.key)
            and right_value(record.value)
        )

    return matches


def _content_matcher(wanted: Content) -> Callable[[bytes | None], bool]:
    """Return a function that compares a key or value with `wanted`. Bytes and text are compared as
    bytes, other values as parsed JSON; a function gets the bytes; ANY matches all."""
    if wanted is ANY:
        return lambda _: True
    if callable(wanted):
        return lambda data: bool(wanted(data))
    if wanted is None or isinstance(wanted, bytes | bytearray | memoryview | str):
        expected_bytes = content(wanted)
        return lambda data: data == expected_bytes
    expected_json = json.loads(content(wanted) or b"")

    def has_equal_json(data: bytes | None) -> bool:
        """Return whether the bytes are JSON of the expected value; False if they are no JSON."""
        try:
            return bool(json.loads(data or b"") == expected_json)
        except ValueError:
            return False

    return has_equal_json


def expectation(
    key: Content,
    value: Content,
    headers: Mapping[str, bytes | str | None] | None,
    partition: int | None,
) -> str:
    """Return the expected record as words."""
    words = [
        f"{name}={_content_text(expected)}"
        for name, expected in (("key", key), ("value", value))
        if expected is not ANY
    ]
    words += [f"headers={dict(headers)}"] if headers else []
    words += [f"partition={partition}"] if partition is not None else []
    return ", ".join(words) or "any key and value"


def _content_text(expected: Content) -> str:
    """Return expected content as text: a function's name, or the value."""
    return (
        getattr(expected, "__name__", None) or repr(expected)
        if callable(expected)
        else repr(expected)
    )


def _records_there(topic: Topic, every: list[Record], exists: bool) -> str:
    """Return a text about the records that the topic has, or, if it does not exist, about the
    topics that do."""
    return topic.described(every) if exists else topic.absent()


# --- groups --------------------------------------------------------------------------------------


def _wait_for_progress(
    call: Call,
    group: str,
    topics: list[Topic],
    is_met: Callable[[Mapping[str, Json]], bool],
    wanted: str,
    timeout: float,
    wanted_of_share: str | None = None,
) -> None:
    """Ask for the group's progress until all `topics` exist and `is_met` returns True.

    `wanted` is for the text; `wanted_of_share` takes its place if the group is a share group.
    Raises NotAsExpected after `timeout` seconds, Misuse without a group's name.
    """
    __tracebackhide__ = True
    if not group:
        raise Misuse("a group has a name")
    names = [topic.name for topic in topics]
    deadline = time.monotonic() + timeout
    while True:
        args = {"group": group, "topics": names}
        progress = call("group.progress", args, timeout_s=timeout + CALL_MARGIN_S)
        if not progress["missing"] and is_met(progress):
            return
        if time.monotonic() >= deadline:
            is_share = progress.get("type") == SHARE
            expected = wanted_of_share or wanted if is_share else wanted
            missing = "".join(f"\n  there is no topic {name}" for name in progress["missing"])
            raise NotAsExpected(
                f"group {group}: {expected} expected within {timeout:g} s: "
                + group_text(call, progress)
                + missing
                + _progress_lines(progress["partitions"], is_share)
            )
        time.sleep(POLL_S)


def group_text(call: Call, group_description: Mapping[str, Json]) -> str:
    """Return a text about a group's state and members; if there is no such group, about the groups
    there are."""
    if group_description["state"] == "Dead":
        names = some(entry["group"] for entry in call("group.list"))
        return f"it is not there (there are: {names})"
    clients = ", ".join(sorted(entry["client_id"] for entry in group_description["members"]))
    count = _members(len(group_description["members"]))
    return f"it is {group_description['state']} with {count}" + (f" ({clients})" if clients else "")


def _members(count: int) -> str:
    """Return the number of members with the noun: "1 member", "2 members"."""
    return f"{count} member" if count == 1 else f"{count} members"


def _progress_lines(partitions: Iterable[Mapping[str, Json]], is_share: bool) -> str:
    """Return a line for each partition, at most SHOWN of them, and the number of the others."""
    lines = []
    for partition in partitions:
        where = f"{partition['topic']}-{partition['partition']}: "
        offset = partition["committed"]
        done = "committed" if not is_share else "finished" if offset is None else "finished before"
        offset = "nothing" if offset is None else offset
        words = f"{done} {offset}, end {partition['end']}, lag {partition['lag']}"
        lines.append(
            where + words + (", a transaction is open" if partition["open_transaction"] else "")
        )
    return some_lines(lines)


def some_lines(lines: Sequence[str]) -> str:
    """Return the first SHOWN lines, each after a line break, and the number of the others."""
    more = len(lines) - SHOWN
    shown = "".join(f"\n  {line}" for line in lines[:SHOWN])
    return shown + (f"\n  … and {more} more" if more > 0 else "")
