"""Which differences in the answers about share groups a row of `differences.toml` explains.

See `matchers` for the form.
"""

from __future__ import annotations

from typing import Any

from tests.differential.matchers import MatchedDifference, matches

INVALID_REQUEST = 42
UNKNOWN_PARTITION = 3
UNKNOWN_TOPIC_ID = 100
INVALID_RECORD_STATE = 121


@matches("batch-of-a-share-group-that-cannot-be")
def share_batch_that_cannot_be(met: MatchedDifference) -> bool:
    if met.api != "WRITE_SHARE_GROUP_STATE" or met.codes[1] != INVALID_REQUEST:
        return False
    batches = [
        batch
        for topic in met.step.body.get("topics") or ()
        for part in topic.get("partitions") or ()
        for batch in part.get("state_batches") or ()
    ]
    return any(
        batch["last_offset"] < batch["first_offset"]
        or batch["delivery_state"] not in range(5)
        or batch["delivery_count"] < 0
        for batch in batches
    )


@matches("share-fetch-unknown-topic-with-authorizer")
def share_fetch_of_unknown_topic(met: MatchedDifference) -> bool:
    if met.api not in ("SHARE_FETCH", "SHARE_ACKNOWLEDGE") or isinstance(met.kafka, str):
        return False
    answered_nothing = met.kafka["error_code"] == -1 and not met.kafka["responses"]
    codes = _error_codes(met.ottla, "error_code") | _error_codes(
        met.ottla, "acknowledge_error_code"
    )
    return answered_nothing and UNKNOWN_TOPIC_ID in codes


@matches("share-fetch-of-a-group-without-state")
def share_fetch_without_state(met: MatchedDifference) -> bool:
    if isinstance(met.kafka, str) or isinstance(met.ottla, str):
        return False
    if met.api == "SHARE_ACKNOWLEDGE" and met.codes == (INVALID_RECORD_STATE, UNKNOWN_PARTITION):
        return any(
            step.api == "SHARE_FETCH" and -1 in _error_codes(answer, "error_code")
            for step, _, answer in met.before
            if not isinstance(answer, str)
        )
    if met.api != "SHARE_FETCH" or met.kafka["error_code"] or met.ottla["error_code"]:
        return False
    return any(-1 in _error_codes(answer, "error_code") for answer in (met.kafka, met.ottla))


@matches("share-fetch-names-a-partition-twice")
def share_fetch_named_twice(met: MatchedDifference) -> bool:
    if met.api not in ("SHARE_FETCH", "SHARE_ACKNOWLEDGE") or isinstance(met.kafka, str):
        return False
    named = [
        (repr(topic["topic_id"]), part["partition_index"])
        for topic in met.step.body.get("topics") or ()
        for part in topic.get("partitions") or ()
    ]
    return met.kafka["error_code"] == -1 and len(set(named)) < len(named)


def _error_codes(answer: Any, name: str) -> set[int]:
    """The errors of the partitions in the answer to a ShareFetch or ShareAcknowledge."""
    return {part.get(name) for topic in answer["responses"] for part in topic["partitions"]}


@matches("acknowledgement-of-what-is-not-in-flight")
def acknowledged_not_in_flight(met: MatchedDifference) -> bool:
    if met.api not in ("SHARE_FETCH", "SHARE_ACKNOWLEDGE") or isinstance(met.kafka, str):
        return False
    name = "acknowledge_error_code" if met.api == "SHARE_FETCH" else "error_code"
    return met.kafka["error_code"] == -1 and INVALID_RECORD_STATE in _error_codes(met.ottla, name)


@matches("share-fetch-batch-size-0")
def share_fetch_batch_size(met: MatchedDifference) -> bool:
    return met.api == "SHARE_FETCH" and met.step.body["batch_size"] <= 0


@matches("partitions-of-a-share-fetch-with-few-records")
def share_fetch_of_few(met: MatchedDifference) -> bool:
    if met.api != "SHARE_FETCH" or not met.difference.place.startswith("responses[].partitions"):
        return False
    kafka, ottla = _acquired(met.kafka), _acquired(met.ottla)
    return kafka != ottla and met.step.body["max_records"] < len(kafka | ottla)


def _acquired(answer: Any) -> set[tuple[int, int]]:
    """The offsets that a ShareFetch acquired, with their partition."""
    return {
        (part["partition_index"], offset)
        for topic in answer["responses"]
        for part in topic["partitions"]
        for one in part["acquired_records"]
        for offset in range(one["first_offset"], one["last_offset"] + 1)
    }


@matches("offsets-of-share-groups-that-cannot-be")
def share_offsets_that_cannot_be(met: MatchedDifference) -> bool:
    if met.api == "ALTER_SHARE_GROUP_OFFSETS":
        topics = met.step.body.get("topics") or ()
        indexes = [one["partition_index"] for topic in topics for one in topic["partitions"]]
        return met.kafka["error_code"] == -1 and min(indexes, default=0) < 0
    if met.api != "DESCRIBE_SHARE_GROUP_OFFSETS":
        return False
    return any(group["error_code"] == -1 for group in met.kafka["groups"])


@matches("share-group-of-refused-offsets")
def group_of_refused_offsets(met: MatchedDifference) -> bool:
    if met.api == "ALTER_SHARE_GROUP_OFFSETS":
        return False
    return any(
        step.api == "ALTER_SHARE_GROUP_OFFSETS"
        and answer["error_code"] == 0
        and 0 not in _error_codes(answer, "error_code")
        for step, _, answer in met.before
        if not isinstance(answer, str)
    ) and ("GROUP" in met.api)


@matches("delete-share-offsets-of-a-group-without-state")
def delete_offsets_without_state(met: MatchedDifference) -> bool:
    return met.api == "DELETE_SHARE_GROUP_OFFSETS" and met.difference.kafka == []


@matches("share-session-of-a-deleted-topic")
def share_session_of_deleted(met: MatchedDifference) -> bool:
    return met.api == "SHARE_FETCH" and met.codes == (3, 100)
