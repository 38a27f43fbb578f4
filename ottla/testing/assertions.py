"""What a test expects of topics and groups: waited for, and told what is there instead.

Each waits until what is expected is so, for `timeout` seconds at most, and raises NotAsExpected, an
AssertionError, whose text says what there was. They block: from a coroutine whose loop the
application runs in, call them by `asyncio.to_thread`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping

from ottla.testing.errors import Misuse
from ottla.testing.frames import Json
from ottla.testing.records import Content, Record, content
from ottla.testing.topic import CALL_MARGIN_S, Call, NotAsExpected, Topic, some

ANY: Content = object()
"""Whatever it is."""
_POLL_S = 0.01
_STATES = (
    "Stable",
    "Empty",
    "Dead",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
)
"""Of groups, as Kafka calls them; the last two are those of the newer protocol (KIP-848)."""
_SHOWN = 10

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
    """The records of a topic, from its start, that are as said: one at least, or exactly `count`.

    With `count` 0 the topic has none of them now: that is looked at once, without waiting.
    """
    __tracebackhide__ = True
    matches = _matcher(key, value, headers, partition)
    wanted = _wanted(key, value, headers, partition)
    positions: dict[str, int] = {}
    every: list[Record] = []
    deadline = time.monotonic() + timeout
    exists = False
    while True:
        some, exists = topic.read_on(positions, timeout, None)
        every += some
        found = [one for one in every if matches(one)]
        enough = bool(found) if count is None else len(found) >= count
        left = deadline - time.monotonic()
        if enough or left <= 0:
            break
        waited, exists = topic.read_on(positions, left, 1)
        every += waited
    if count is not None and len(found) > count or not enough:
        words = "a record" if count is None else f"{count} records"
        raise NotAsExpected(
            f"{words} with {wanted} expected in {topic.label} within {timeout:g} s, "
            f"{len(found)} found: " + _there(topic, every, exists)
        )
    return found


def committed(
    call: Call,
    group: str,
    topic: Topic,
    *,
    lag: int | None = None,
    offsets: Mapping[int, int] | None = None,
    timeout: float,
) -> None:
    """A group has committed these `offsets` (by partition), or has so many records left in all."""
    __tracebackhide__ = True
    if offsets is None and lag is None:
        lag = 0

    def is_so(found: Mapping[str, Json]) -> bool:
        mine = {p["partition"]: p for p in found["partitions"] if p["topic"] == topic.name}
        if offsets is not None and any(
            mine.get(index, {}).get("committed") != offset for index, offset in offsets.items()
        ):
            return False
        if lag is None:
            return True
        has = any(one["committed"] is not None for one in mine.values())
        return has and sum(one["lag"] or 0 for one in mine.values()) == lag

    wanted = f"offsets {dict(offsets)}" if offsets is not None else ""
    wanted += " and " if offsets is not None and lag is not None else ""
    wanted += f"a lag of {lag}" if lag is not None else ""
    _until(call, group, [topic], is_so, f"{wanted} in {topic.label}", timeout)


def idle(call: Call, group: str, topics: Iterable[Topic], timeout: float) -> None:
    """A group has committed all there is: of the partitions that it has, and of these topics."""
    __tracebackhide__ = True

    def is_so(found: Mapping[str, Json]) -> bool:
        partitions = found["partitions"]
        settled = found["state"] in ("Stable", "Empty", "Dead")
        return settled and bool(partitions) and not any(one["lag"] for one in partitions)

    _until(call, group, list(topics), is_so, "all records read and committed", timeout)


def group_state(call: Call, group: str, *, members: int | None, state: str, timeout: float) -> None:
    """A group is in a state, with so many members."""
    __tracebackhide__ = True
    if state not in _STATES:
        raise Misuse(f"no group is ever {state}: its states are {', '.join(_STATES)}")
    deadline = time.monotonic() + timeout
    while True:
        found = call("group.describe", {"group": group}, timeout_s=timeout + CALL_MARGIN_S)
        count = len(found["members"])
        if found["state"] == state and members in (None, count):
            return
        if time.monotonic() >= deadline:
            wanted = state if members is None else f"{state} with {_members(members)}"
            raise NotAsExpected(
                f"group {group} is not {wanted} within {timeout:g} s: " + _group(call, found)
            )
        time.sleep(_POLL_S)


# --- records -------------------------------------------------------------------------------------


def _matcher(
    key: Content,
    value: Content,
    headers: Mapping[str, bytes | str | None] | None,
    partition: int | None,
) -> Matches:
    right_key, right_value = _content_matcher(key), _content_matcher(value)
    wanted = {name: content(one) for name, one in (headers or {}).items()}

    def matches(record: Record) -> bool:
        has = dict(record.headers)
        return (
            partition in (None, record.partition)
            and all(name in has and has[name] == one for name, one in wanted.items())
            and right_key(record.key)
            and right_value(record.value)
        )

    return matches


def _content_matcher(wanted: Content) -> Callable[[bytes | None], bool]:
    """By bytes; what JSON can say, by what it says; a function, by its answer."""
    if wanted is ANY:
        return lambda _: True
    if callable(wanted):
        return lambda given: bool(wanted(given))
    if wanted is None or isinstance(wanted, bytes | bytearray | memoryview | str):
        right = content(wanted)
        return lambda given: given == right
    said = json.loads(content(wanted) or b"")

    def says_so(given: bytes | None) -> bool:
        try:
            return bool(json.loads(given or b"") == said)
        except ValueError:
            return False

    return says_so


def _wanted(
    key: Content,
    value: Content,
    headers: Mapping[str, bytes | str | None] | None,
    partition: int | None,
) -> str:
    words = [
        f"{name}={_named(one)}" for name, one in (("key", key), ("value", value)) if one is not ANY
    ]
    words += [f"headers={dict(headers)}"] if headers else []
    words += [f"partition={partition}"] if partition is not None else []
    return ", ".join(words) or "any key and value"


def _named(one: Content) -> str:
    return getattr(one, "__name__", None) or repr(one) if callable(one) else repr(one)


def _there(topic: Topic, every: list[Record], exists: bool) -> str:
    return topic.described(every) if exists else topic.absent()


# --- groups --------------------------------------------------------------------------------------


def _until(
    call: Call,
    group: str,
    topics: list[Topic],
    is_so: Callable[[Mapping[str, Json]], bool],
    wanted: str,
    timeout: float,
) -> None:
    __tracebackhide__ = True
    if not group:
        raise Misuse("a group has a name")
    names = [topic.name for topic in topics]
    deadline = time.monotonic() + timeout
    while True:
        args = {"group": group, "topics": names}
        found = call("group.progress", args, timeout_s=timeout + CALL_MARGIN_S)
        if not found["missing"] and is_so(found):
            return
        if time.monotonic() >= deadline:
            missing = "".join(f"\n  there is no topic {name}" for name in found["missing"])
            raise NotAsExpected(
                f"group {group}: {wanted} expected within {timeout:g} s: "
                + _group(call, found)
                + missing
                + _progress(found["partitions"])
            )
        time.sleep(_POLL_S)


def _group(call: Call, found: Mapping[str, Json]) -> str:
    """How a group is; where it is not there, which ones are."""
    if found["state"] == "Dead":
        names = some(one["group"] for one in call("group.list"))
        return f"it is not there (there are: {names})"
    clients = ", ".join(sorted(one["client_id"] for one in found["members"]))
    count = _members(len(found["members"]))
    return f"it is {found['state']} with {count}" + (f" ({clients})" if clients else "")


def _members(count: int) -> str:
    return f"{count} member" if count == 1 else f"{count} members"


def _progress(partitions: Iterable[Mapping[str, Json]]) -> str:
    lines = []
    for one in partitions:
        where = f"\n  {one['topic']}-{one['partition']}: "
        offset = "nothing" if one["committed"] is None else one["committed"]
        words = f"committed {offset}, end {one['end']}, lag {one['lag']}"
        lines.append(where + words + (", a transaction is open" if one["open_transaction"] else ""))
    more = len(lines) - _SHOWN
    return "".join(lines[:_SHOWN]) + (f"\n  … and {more} more" if more > 0 else "")
