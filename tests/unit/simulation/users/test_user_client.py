"""A user's client does as client libraries do, on one broker or three, when something fails too."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.users.user_run import UserRun
from tests.unit.simulation.exchanges import result_of, started, write


def lost(run: UserRun, client: str, deed: str = "unanswered", api: str = "Produce") -> None:
    """The next request is carried out, and not answered."""
    rule = {"deed": deed, "api": api, "times": 1, "client_id": client}
    result_of(run, "fail", None, key=f"{client}-{api}", rule=rule, brokers=None)


def values(run: UserRun, **options: Any) -> list[bytes]:
    given = {"topic": "t", "partition": 0, "offset": 0, "count": 0, "committed": True,
             "wait_ms": 100, **options}  # fmt: skip
    records, _, _ = result_of(run, "fetch", **given)
    return [one[5] for one in records]


def test_records_go_in_and_come_out_in_their_order() -> None:
    run = started(brokers=1)
    assert write(run, b"a", b"b", b"c") == [[0, 0], [0, 1], [0, 2]]
    assert values(run) == [b"a", b"b", b"c"]
    assert values(run, offset=1, count=1) == [b"b"]
    assert result_of(run, "offset", topic="t", partition=0, which="latest") == 3
    assert result_of(run, "offset", topic="t", partition=0, which="earliest") == 0


def test_an_idempotent_client_writes_once_what_it_has_to_send_twice() -> None:
    for idempotent, there in ((True, [b"a"]), (False, [b"a", b"a"])):
        run = started()
        lost(run, "other")
        write(run, b"a", client="other", idempotent=idempotent)
        assert values(run) == there


def test_partitions_are_chosen_by_key_or_in_turn() -> None:
    run = started(brokers=1)
    result_of(run, "create_topic", topic="wide", partitions=3, replication=1, configs={})
    assert result_of(run, "partitions", topic="wide") == 3
    where = [write(run, b"x", topic="wide", partition=None)[0][0] for _ in range(4)]
    assert where == [0, 1, 2, 0]
    keyed = [{"key": b"k", "value": b"x"}]
    found = {write(run, b"", topic="wide", partition=None, records=keyed)[0][0] for _ in range(3)}
    assert len(found) == 1


def test_acks_0_tells_no_offset() -> None:
    run = started(brokers=1)
    assert write(run, b"a", acks=0, client="careless", idempotent=False) == [[0, -1]]
    assert values(run, count=1) == [b"a"]


def test_offsets_of_groups_survive_a_lost_answer() -> None:
    run = started()
    where = {"group": "g", "topic": "t", "partition": 0}
    assert result_of(run, "committed", **where) is None
    lost(run, "client", api="OffsetCommit")
    offsets = {"group": "g", "offsets": [["t", 0, 7]], "member_id": "", "generation": -1}
    result_of(run, "commit", **offsets)
    assert result_of(run, "committed", **where) == 7
    with pytest.raises(AssertionError, match="UNKNOWN_MEMBER_ID"):
        result_of(run, "commit", **{**offsets, "member_id": "nobody", "generation": 3})


def test_what_does_not_pass_is_said_and_whether_it_may_have_been_done() -> None:
    run = started()
    with pytest.raises(AssertionError, match=r"topic x: INVALID_REPLICATION_FACTOR \(.*9"):
        result_of(run, "create_topic", topic="x", partitions=1, replication=9, configs={})
    with pytest.raises(AssertionError, match="TOPIC_ALREADY_EXISTS"):
        result_of(run, "create_topic", topic="t", partitions=1, replication=-1, configs={})
    with pytest.raises(AssertionError, match="no broker knows a topic nowhere"):
        write(run, b"a", topic="nowhere", timeout_ms=500.0)
    with pytest.raises(AssertionError, match="0 of 1 records came"):
        values(run, count=1, timeout_ms=500.0)
    rule = {"deed": "unanswered", "api": "Produce"}
    result_of(run, "fail", None, key="all", rule=rule, brokers=None)
    with pytest.raises(AssertionError, match="TIMED_OUT.*'unsure': True"):
        write(run, b"a", timeout_ms=500.0)
    result_of(run, "lift", None, key="all")
    assert write(run, b"b")[0][1] > 0, "with a new producer id, behind what was written unseen"


def test_a_leader_that_dies_is_followed_by_the_next() -> None:
    run = started()
    write(run, b"a")
    before = result_of(run, "leader", None, topic="t", partition=0)
    result_of(run, "kill", None, broker=before)
    write(run, b"b")
    assert result_of(run, "leader", None, topic="t", partition=0) != before
    assert values(run) == [b"a", b"b"]


def test_any_request_is_sent_as_it_is() -> None:
    run = started()
    told = result_of(run, "request", api="Metadata", fields={"topics": [{"name": "t"}]},
                     version=None, broker=2, timeout_ms=1_000.0)  # fmt: skip
    assert [one["name"] for one in told["topics"]] == ["t"] and len(told["brokers"]) == 3
    result_of(run, "kill", None, broker=2)
    with pytest.raises(AssertionError, match="NO_ANSWER"):
        result_of(
            run, "request", api="Metadata", fields={}, version=None, broker=2, timeout_ms=500.0
        )
    with pytest.raises(AssertionError, match="MISUSE.*no API Metdata; did you mean Metadata"):
        result_of(
            run, "request", api="Metdata", fields={}, version=None, broker=1, timeout_ms=500.0
        )


def test_an_offset_that_is_not_there_is_out_of_range() -> None:
    run = started(brokers=1)
    with pytest.raises(AssertionError, match="fetch of t-0 from 9: OFFSET_OUT_OF_RANGE"):
        values(run, offset=9)


def test_a_client_over_its_quota_sends_nothing_for_as_long_as_it_is_told() -> None:
    run = started()
    entity = [{"entity_type": "client-id", "entity_name": "busy"}]
    for rate in (200.0, None):
        ops = [{"key": "producer_byte_rate", "value": rate or 0.0, "remove": rate is None}]
        fields = {"entries": [{"entity": entity, "ops": ops}], "validate_only": False}
        result_of(run, "request", api="AlterClientQuotas", fields=fields, version=None, broker=None,
              timeout_ms=1_000.0)  # fmt: skip
        result_of(
            run, "sleep", None, ms=15_000.0
        )  # each broker knows it, and what was told is over
        began_ms = run.world.now_ms
        write(run, b"x" * 3_000, client="busy")
        write(run, b"y", client="busy")
        took_ms = run.world.now_ms - began_ms
        assert took_ms > 4_000.0 if rate else took_ms < 500.0
    assert values(run) == [b"x" * 3_000, b"y"] * 2
