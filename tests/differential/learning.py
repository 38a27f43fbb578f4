"""What a broker's answers teach: the ids, epochs and sequences that later steps name by symbol.

Owns nothing; writes into the `Learned` of one side. Never asks a broker.
"""

from __future__ import annotations

from typing import Any

from tests.differential.sequence import Learned, Step


def learn(learned: Learned, step: Step, request: Any, answer: Any) -> None:
    """Keep what later steps may name."""
    teacher = TEACHERS.get(step.api)
    if teacher is not None:
        teacher(learned, step, request, answer)


def _topic_ids(learned: Learned, step: Step, request: Any, answer: Any) -> None:
    for topic in answer.topics:
        if topic.error_code == 0 and topic.topic_id != bytes(16):
            learned["topic_id", topic.name] = topic.topic_id


def _producer(learned: Learned, step: Step, request: Any, answer: Any) -> None:
    name = request.transactional_id or f"idempotent-{step.connection}"
    if answer.error_code == 0 and answer.producer_id >= 0:
        learned["producer_id", name] = answer.producer_id
        learned["epoch", name] = answer.producer_epoch
        for key in [one for one in learned if one[0] == "sequence" and one[1].startswith(name)]:
            del learned[key]


def _joined(learned: Learned, step: Step, request: Any, answer: Any) -> None:
    slot = f"{request.group_id}/{step.connection}"
    if answer.member_id:
        learned["member", slot] = answer.member_id
    if answer.error_code == 0:
        learned["generation", request.group_id] = answer.generation_id


def _session(learned: Learned, step: Step, request: Any, answer: Any) -> None:
    slot = str(step.connection)
    if answer.error_code != 0:
        return
    fresh = answer.session_id != 0 and learned.get(("session", slot)) != answer.session_id
    learned["session", slot] = answer.session_id
    learned["session_epoch", slot] = 1 if fresh else learned.get(("session_epoch", slot), 0) + 1
    if answer.session_id == 0:
        learned["session_epoch", slot] = 0


def _share_session(learned: Learned, step: Step, request: Any, answer: Any) -> None:
    """`share_session_epoch` of `group/connection` is what the next request has to name."""
    if answer.error_code == 0:
        key = ("share_session_epoch", f"{request.group_id}/{step.connection}")
        learned[key] = max(request.share_session_epoch, -1) + 1


def _sequences(learned: Learned, step: Step, request: Any, answer: Any) -> None:
    """`sequence` of `producer/topic/partition` goes on by what was appended."""
    by_id = step.version >= 13
    good = {
        (topic.topic_id if by_id else topic.name, part.index)
        for topic in answer.responses
        for part in topic.partition_responses
        if part.error_code == 0
    }
    for asked, topic in zip(request.topic_data, step.body.get("topic_data", []), strict=True):
        for part in topic.get("partition_data", ()):
            records = part.get("records")
            key = (asked.topic_id if by_id else asked.name, part.get("index", 0))
            if key not in good or not isinstance(records, dict):
                continue
            for batch in records.get("$records", []):
                symbol = batch.get("seq")
                if isinstance(symbol, dict) and "add" not in symbol:
                    key = ("sequence", symbol["of"])
                    learned[key] = learned.get(key, 0) + batch.get("n", 1)


def _directories(learned: Learned, step: Step, request: Any, answer: Any) -> None:
    if answer.results:
        learned["directory", "first"] = answer.results[0].log_dir


def _token(learned: Learned, step: Step, request: Any, answer: Any) -> None:
    if answer.error_code == 0:
        learned["hmac", "last"] = bytes(answer.hmac)
        learned["token_id", "last"] = answer.token_id


def _cluster(learned: Learned, step: Step, request: Any, answer: Any) -> None:
    learned["cluster_id", "own"] = answer.cluster_id


TEACHERS = {
    "DESCRIBE_CLUSTER": _cluster,
    "CREATE_TOPICS": _topic_ids,
    "METADATA": _topic_ids,
    "INIT_PRODUCER_ID": _producer,
    "END_TXN": _producer,
    "JOIN_GROUP": _joined,
    "FETCH": _session,
    "PRODUCE": _sequences,
    "SHARE_FETCH": _share_session,
    "SHARE_ACKNOWLEDGE": _share_session,
    "DESCRIBE_LOG_DIRS": _directories,
    "CREATE_DELEGATION_TOKEN": _token,
}
