"""Which differences a row of `differences.toml` explains: one function for each that can be met.

A function is given the difference, the request, both answers whole, and what was answered before.
Never asks a broker; says no where it is not sure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.differential.comparison import Difference
from tests.differential.connection import Outcome
from tests.differential.sequence import Body, Step


@dataclass(frozen=True)
class MatchedDifference:
    """A difference and all that is known about it."""

    step: Step
    difference: Difference
    kafka: Any
    ottla: Any
    before: list[tuple[Step, Any, Any]]
    """What was answered before."""
    sent: list[Step] = field(default_factory=list)
    """What was sent before, answered or not, and the request itself."""

    @property
    def api(self) -> str:
        return self.step.api

    @property
    def field(self) -> str:
        """The name of the field that differs."""
        return self.difference.place.rsplit(".", 1)[-1].removesuffix("[]")

    def beside(self, name: str) -> tuple[Any, Any]:
        """What both say in a field of the same struct."""
        path = re.findall(r"[^.\[\]]+", self.difference.path)[:-1]
        found = []
        for value in (self.kafka, self.ottla):
            for part in path:
                if isinstance(value, list):
                    value = value[int(part)] if int(part) < len(value) else None
                else:
                    value = value.get(part) if isinstance(value, dict) else None
            found.append(value.get(name) if isinstance(value, dict) else None)
        return found[0], found[1]

    @property
    def codes(self) -> tuple[Any, Any]:
        """The error codes of the struct that differs."""
        return self.beside("error_code")


Matcher = Callable[[MatchedDifference], bool]
MATCHERS: dict[str, Matcher] = {}


def matches(row: str) -> Callable[[Matcher], Matcher]:
    """Register a function as the matcher of a row, by its identifier."""

    def register(function: Matcher) -> Matcher:
        assert row not in MATCHERS, row
        MATCHERS[row] = function
        return function

    return register


def batches_sent(step: Step) -> Iterator[Body]:
    """Every batch of a Produce, as the step describes it; `{}` stands for null records."""
    for topic in step.body.get("topic_data") or ():
        for part in topic.get("partition_data") or ():
            records = part.get("records")
            if isinstance(records, dict):
                yield from records.get("$records", [records])
            else:
                yield {}


def is_odd(batch: Body) -> bool:
    """Whether its bytes are not what a client's library makes."""
    return not {"set", "put", "hex", "$hex", "cut", "behind", "control"}.isdisjoint(batch)


def produced_odd(met: MatchedDifference) -> bool:
    """Whether odd batches were sent before, or are sent now."""
    steps = [met.step, *(step for step, _, _ in met.before)]
    return any(is_odd(one) for step in steps if step.api == "PRODUCE" for one in batches_sent(step))


# --- records -------------------------------------------------------------------------------------


@matches("records-not-decoded")
def checks_produced_records(met: MatchedDifference) -> bool:
    """What Kafka refuses after a look at the records is taken; later reads may show it."""
    if not produced_odd(met):
        return False
    if met.api == "PRODUCE":
        kafka, ottla = met.codes
        return ottla == 0 and kafka in (-1, 2, 32, 87)
    return met.api == "LIST_OFFSETS" and met.codes == (0, 2)


@matches("max-timestamp-by-header")
def max_timestamp_by_header(met: MatchedDifference) -> bool:
    if not produced_odd(met):
        return False
    if met.api == "FETCH":
        return met.difference.place.endswith("records[].max_timestamp")
    return met.api == "LIST_OFFSETS" and met.field in ("timestamp", "offset", "leader_epoch")


@matches("text-of-refused-batch")
def text_of_refused_batch(met: MatchedDifference) -> bool:
    kafka, ottla = met.codes
    told = met.field == "error_message" or met.difference.place.endswith("record_errors")
    return met.api == "PRODUCE" and told and kafka == ottla != 0


@matches("size-of-a-packed-batch")
def packed_batch(met: MatchedDifference) -> bool:
    """Under a small limit another batch is the last."""
    packed = '"compression.type"' in json.dumps([step.body for step, _, _ in met.before])
    limits = re.findall(r'max_bytes": (-?\d+)', json.dumps(met.step.body))
    small = any(int(one) < 1 << 16 for one in limits)
    return met.api == "FETCH" and packed and small and "records" in met.difference.place


@matches("partition-twice-in-produce")
def partition_twice(met: MatchedDifference) -> bool:
    named = [
        json.dumps((topic.get("name"), topic.get("topic_id"), part.get("index", 0)))
        for topic in met.step.body.get("topic_data") or ()
        for part in topic.get("partition_data") or ()
    ]
    return met.api == "PRODUCE" and len(set(named)) < len(named)


@matches("timestamp-after-by-header")
def timestamp_after(met: MatchedDifference) -> bool:
    kafka, ottla = met.codes
    return met.api == "PRODUCE" and produced_odd(met) and (kafka, ottla) == (0, 32)


@matches("unknown-codec")
def unknown_codec(met: MatchedDifference) -> bool:
    kafka, ottla = met.codes
    return met.api == "PRODUCE" and kafka == -1 and ottla in (76, 87)


@matches("null-records")
def null_records(met: MatchedDifference) -> bool:
    nothing = met.difference.path == "" and met.kafka == Outcome.NOTHING.value
    return met.api == "PRODUCE" and nothing and {} in batches_sent(met.step)


@matches("batch-without-transactional-id")
def batch_without_transactional_id(met: MatchedDifference) -> bool:
    if met.api != "PRODUCE" or met.step.body.get("transactional_id"):
        return False
    kafka, ottla = met.codes
    return kafka == 53 and ottla != 53


@matches("two-wrongs-of-a-transactional-batch")
def two_wrongs(met: MatchedDifference) -> bool:
    return met.api == "PRODUCE" and met.codes == (47, 49)


@matches("greatest-timestamp-after-delete-records")
def greatest_timestamp(met: MatchedDifference) -> bool:
    deleted = any(step.api == "DELETE_RECORDS" for step, _, _ in met.before)
    return (
        met.api == "LIST_OFFSETS"
        and deleted
        and met.field in ("timestamp", "offset", "leader_epoch")
    )


@matches("parked-join-answered")
def parked(met: MatchedDifference) -> bool:
    waits = met.api in ("JOIN_GROUP", "SYNC_GROUP") and met.kafka == Outcome.NOTHING.value
    return waits and isinstance(met.ottla, dict) and met.ottla["error_code"] in (25, 27, 82)


@matches("joingroup-member-takes-an-instance-id")
def takes_an_instance_id(met: MatchedDifference) -> bool:
    kafka, ottla = met.codes
    named = met.step.body.get("group_instance_id") is not None
    return met.api == "JOIN_GROUP" and named and kafka in (-1, 23) and ottla in (25, 82)


@matches("next-leader-of-a-group")
def next_leader(met: MatchedDifference) -> bool:
    if met.api != "JOIN_GROUP" or met.codes != (0, 0):
        return False
    if met.beside("generation_id")[0] <= 1:
        return False
    # Labels of ids follow the order of answers: the leader's comes last.
    leads = [one["leader"] == one["member_id"] for one in (met.kafka, met.ottla)]
    return met.field in ("leader", "members") or (met.field == "member_id" and leads[0] != leads[1])


@matches("joingroup-protocol-twice")
def protocol_twice(met: MatchedDifference) -> bool:
    """It, or who joins that group after it."""
    group = met.step.body.get("group_id")
    joins = [
        one for one in met.sent if one.api == "JOIN_GROUP" and one.body.get("group_id") == group
    ]
    named = [[one.get("name") for one in step.body.get("protocols") or ()] for step in joins]
    concerned = met.api in (
        *("JOIN_GROUP", "SYNC_GROUP", "DESCRIBE_GROUPS", "HEARTBEAT", "LEAVE_GROUP"),
    )
    return concerned and any(len(set(names)) < len(names) for names in named)


@matches("refused-commit-makes-no-group")
def refused_commit(met: MatchedDifference) -> bool:
    """Kafka knows a group of which nothing was committed."""
    commits = [
        answer
        for step, answer, _ in met.before
        if step.api in ("OFFSET_COMMIT", "TXN_OFFSET_COMMIT") and isinstance(answer, dict)
    ]
    if not any(_is_refused(one) for one in commits):
        return False
    kafka, ottla = met.codes
    if met.api in ("DELETE_GROUPS", "OFFSET_DELETE"):
        return ottla == 69 != kafka
    return met.api in ("DESCRIBE_GROUPS", "LIST_GROUPS")


def _is_refused(answer: Any) -> bool:
    codes = [part["error_code"] for topic in answer["topics"] for part in topic["partitions"]]
    return bool(codes) and all(codes)


# --- fetches -------------------------------------------------------------------------------------


@matches("isolation-level-unknown")
def isolation_level(met: MatchedDifference) -> bool:
    level = met.step.body.get("isolation_level", 0)
    return met.api in ("FETCH", "LIST_OFFSETS") and level not in (0, 1)


@matches("fetch-session-id-beyond")
def session_id_beyond(met: MatchedDifference) -> bool:
    named = met.step.body.get("session_id", 0)
    return met.api == "FETCH" and isinstance(named, int) and abs(named) > 1 << 30


@matches("zero-id-in-fetch")
def zero_id_in_fetch(met: MatchedDifference) -> bool:
    if met.api != "FETCH" or not met.step.body.get("topics") or session_id_beyond(met):
        return False
    codes = [one["error_code"] for one in (met.kafka, met.ottla) if isinstance(one, dict)]
    return codes == [-1, 0]


# --- markers -------------------------------------------------------------------------------------


@matches("partition-twice-in-marker")
def partition_twice_in_marker(met: MatchedDifference) -> bool:
    return met.api == "WRITE_TXN_MARKERS" and met.kafka == Outcome.NOTHING.value


@matches("end-of-a-fenced-producer")
def end_of_a_fenced_producer(met: MatchedDifference) -> bool:
    return met.api == "END_TXN" and met.codes in ((0, 90), (48, 90))


@matches("marker-of-no-producer")
def marker_of_no_producer(met: MatchedDifference) -> bool:
    kafka, ottla = met.codes
    return met.api == "WRITE_TXN_MARKERS" and kafka == -1 != ottla


# --- exceptions of Kafka's own -------------------------------------------------------------------


@matches("exceptions-as-refusals")
def zero_id(met: MatchedDifference) -> bool:
    """Kafka's exception over one topic's empty name takes the other topics of the request along."""
    kafka, ottla = met.codes
    wanted = {"METADATA": 42, "DESCRIBE_TOPIC_PARTITIONS": 17, "CREATE_PARTITIONS": 44}
    if kafka == -1 and met.api == "DESCRIBE_TOPIC_PARTITIONS":
        return any(not topic.get("name") for topic in met.step.body.get("topics") or ())
    return kafka == -1 and ottla == wanted.get(met.api)


@matches("scram-user-replaced")
def scram_user_replaced(met: MatchedDifference) -> bool:
    """Kafka does not show a user that one request added beside a deletion."""
    replaced = any(
        step.api == "ALTER_USER_SCRAM_CREDENTIALS"
        and step.body.get("deletions")
        and step.body.get("upsertions")
        for step in met.sent
    )
    return met.api == "DESCRIBE_USER_SCRAM_CREDENTIALS" and replaced and met.codes == (91, 0)


@matches("negative-max-bytes")
def negative_max_bytes(met: MatchedDifference) -> bool:
    return met.api == "FETCH" and any(
        part.get("partition_max_bytes", 0) < 0 or met.step.body.get("max_bytes", 0) < 0
        for topic in met.step.body.get("topics") or ()
        for part in topic.get("partitions") or ()
    )


@matches("too-many-partitions-first")
def too_many_partitions(met: MatchedDifference) -> bool:
    if met.api not in ("CREATE_TOPICS", "CREATE_PARTITIONS"):
        return False
    topics = met.step.body.get("topics") or ()
    return any(max(one.get("num_partitions", 0), one.get("count", 0)) > 10_000 for one in topics)


@matches("requests-never-answered")
def never_answered(met: MatchedDifference) -> bool:
    nothing = met.difference.path == "" and met.kafka == Outcome.NOTHING.value
    return nothing and met.api in ("ADD_PARTITIONS_TO_TXN", "ALTER_CONFIGS")


@matches("batches-that-kafka-cannot-build")
def cannot_be_built(met: MatchedDifference) -> bool:
    kafka, ottla = met.codes
    return (
        met.api == "PRODUCE"
        and (kafka, ottla) == (-1, 0)
        and any(
            one.get("ts", 0) < -1 or ("pid" in one and -1 in (one.get("epoch"), one.get("seq")))
            for one in batches_sent(met.step)
        )
    )


@matches("greatest-timestamp-of-none")
def greatest_of_none(met: MatchedDifference) -> bool:
    stamps = [one.get("ts", 0) for step in met.sent for one in batches_sent(step)]
    wanted = met.field in ("offset", "leader_epoch", "timestamp") and met.difference.ottla == -1
    return met.api == "LIST_OFFSETS" and wanted and min(stamps, default=0) < 0


@matches("offset-deltas-of-records")
def offset_deltas(met: MatchedDifference) -> bool:
    kafka, ottla = met.codes
    return met.api == "PRODUCE" and produced_odd(met) and ottla == 87 and kafka in (0, 32)


@matches("deleted-topic-in-a-session")
def deleted_in_session(met: MatchedDifference) -> bool:
    deleted = any(step.api == "DELETE_TOPICS" for step in met.sent)
    return met.api == "FETCH" and deleted and met.codes in ((3, 100), (103, 100))


@matches("share-state-of-a-deleted-topic")
def share_state_of_deleted(met: MatchedDifference) -> bool:
    deleted = any(step.api == "DELETE_TOPICS" for step in met.sent)
    return met.api.endswith("SHARE_GROUP_STATE") and deleted and met.codes == (0, 3)


@matches("offsets-of-a-deleted-topic")
def offsets_of_deleted(met: MatchedDifference) -> bool:
    if met.api != "OFFSET_FETCH" or not any(step.api == "DELETE_TOPICS" for step in met.sent):
        return False
    kafka, ottla = met.difference.kafka, met.difference.ottla
    if met.field == "topics":  # all that the group has
        return all(topic in kafka for topic in ottla)
    gone = {"committed_offset": -1, "committed_leader_epoch": -1, "metadata": ""}
    return gone.get(met.field, met) == ottla and met.codes == (0, 0)


@matches("texts-of-describe-configs")
def texts_of_configs(met: MatchedDifference) -> bool:
    return met.field == "documentation"


@matches("describe-topic-partitions-cursor-overflow")
def cursor_overflow(met: MatchedDifference) -> bool:
    cursor = met.step.body.get("cursor") or {}
    return met.api == "DESCRIBE_TOPIC_PARTITIONS" and cursor.get("partition_index", 0) > 1 << 30


@matches("empty-salted-password")
def without_salted_password(met: MatchedDifference) -> bool:
    return met.api == "ALTER_USER_SCRAM_CREDENTIALS" and met.codes == (-1, 93)


ACL_APIS = ("CREATE_ACLS", "DESCRIBE_ACLS", "DELETE_ACLS")
ACL_KINDS = ("resource_type", "resource_pattern_type", "operation", "permission_type")


@matches("acl-values-that-are-none")
def acl_values(met: MatchedDifference) -> bool:
    if met.api not in ACL_APIS or met.kafka != Outcome.CLOSED.value:
        return False
    body = met.step.body
    entries = body.get("creations") or body.get("filters") or [body]
    kinds = (*ACL_KINDS, "resource_type_filter", "pattern_type_filter")
    return any(entry.get(kind) == 0 for entry in entries for kind in kinds)


# --- what is named and told ----------------------------------------------------------------------


@matches("security-not-served")
def apis_not_served(met: MatchedDifference) -> bool:
    if met.api != "API_VERSIONS" or met.difference.path != "api_keys":
        return False
    return all(one in met.difference.kafka for one in met.difference.ottla)


@matches("streams-groups-not-served")
def streams_not_known(met: MatchedDifference) -> bool:
    if met.api != "API_VERSIONS" or met.difference.path != "supported_features":
        return False
    rest = [one for one in met.difference.kafka if one["name"] != "streams.version"]
    return bool(rest == met.difference.ottla)


@matches("text-where-kafka-has-none")
def more_texts(met: MatchedDifference) -> bool:
    one = met.difference
    return met.field.endswith("error_message") and one.kafka in (None, "") and one.ottla == "<text>"


@matches("topic-named-twice")
def named_twice(met: MatchedDifference) -> bool:
    return _grouped(met.kafka) == _grouped(met.ottla)


KEYS = ("name", "topic", "topic_name", "topic_id", "log_dir")
PARTITION_KEYS = ("partition_index", "partition", "index")


def _grouped(value: Any) -> Any:
    """A tree in which a topic stands once, with each partition once, and none without."""
    if isinstance(value, dict):
        return {name: _grouped(item) for name, item in value.items()}
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return value
    found: dict[str, Any] = {}
    for item in value:
        inner = next((name for name, one in item.items() if isinstance(one, list)), None)
        key = repr([item[name] for name in (*KEYS, *PARTITION_KEYS) if name in item])
        if key == "[]":
            found[repr(item)] = _grouped(item)
        elif key not in found:
            found[key] = dict(item)
        elif inner is not None:
            found[key][inner] = [*found[key][inner], *item[inner]]
    listed = [_grouped(item) for item in found.values()]
    return [one for one in listed if _says_something(one)]


def _says_something(item: Any) -> bool:
    lists = [one for name, one in item.items() if isinstance(one, list) and "partition" in name]
    return not lists or any(lists)
