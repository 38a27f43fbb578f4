"""Classic groups: joining in every form, and walks of a few members through their lives."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from tests.differential.bodies_of_groups import BODIES
from tests.differential.generate import Versions, random_step
from tests.differential.grids.steps import create, join, stable_group, sync
from tests.differential.sequence import Body, Sequence, Step

WALKS = 120


def grid(versions: Versions) -> Iterator[Sequence]:
    yield from _joins(versions["JOIN_GROUP"])
    yield from _statics(versions["JOIN_GROUP"])
    yield from _commits(versions)
    yield _refused_commit()
    yield from _deleted_topics(versions["OFFSET_FETCH"])
    yield from _pending_members()
    yield from _damaged_subscriptions()
    for number in range(WALKS):
        yield _walk(number, versions)


def _joins(versions: tuple[int, int]) -> Iterator[Sequence]:
    """The first member of a group, in every odd form; a group of its own each."""
    one, two = ({"name": n, "metadata": {"$hex": "00"}} for n in ("range", "roundrobin"))
    protocols = ([], [one], [one, two], [one, one], [{**one, "name": ""}])
    for version in range(versions[0], versions[1] + 1):
        bodies: list[Body] = [
            {"protocol_type": kind, "protocols": listed}
            for kind, listed in itertools.product(("consumer", "", "connect"), protocols)
        ]
        bodies += [{"session_timeout_ms": one} for one in (-1, 0, 99, 100, 1_800_000, 1_800_001)]
        for number, body in enumerate(bodies):
            steps = [
                join(version=version, **{"member_id": "", **body}),
                join(version=version, **body),
            ]
            yield Sequence(f"joins v{version} {number}", steps)
        for member in ("nobody", "wire-1", " "):
            yield Sequence(f"joins v{version} {member}", [join(version=version, member_id=member)])


def _statics(versions: tuple[int, int]) -> Iterator[Sequence]:
    """Static members that come, come again as another, and are fenced."""
    instance = {"group_instance_id": "~i0"}
    for version in range(5, versions[1] + 1):
        for ready, same in itertools.product((False, True), (False, True)):
            fresh = join(1, version, member_id="", **instance)
            if not same:
                fresh.body["protocols"] = [{"name": "range", "metadata": {"$hex": "0909"}}]
            steps = [join(0, version, member_id="", **instance)]
            steps += [sync(**instance)] if ready else []
            steps += [fresh, sync(1, **instance), join(0, version, **instance)]
            steps += [_heartbeat(0, **instance), _heartbeat(1, **instance)]
            steps += [sync(0, **instance), *_leaves(instance)]
            yield Sequence(f"static v{version} ready {ready} same {same}", steps)
    for name in ("", "~", "~i.", "~i i", "x" * 250, "~café"):
        steps = [join(member_id="", group_instance_id=name), sync(group_instance_id=name)]
        yield Sequence(f"static named {name:.9}", steps)


def _heartbeat(connection: int, **body: object) -> Step:
    made = {
        "group_id": "~g0",
        "generation_id": {"$": "generation", "of": "~g0"},
        "member_id": {"$": "member", "of": f"~g0/{connection}"},
        **body,
    }
    return Step("HEARTBEAT", 4, made, connection)


def _leaves(instance: Body) -> list[Step]:
    old = {"member_id": {"$": "member", "of": "~g0/0"}, **instance}
    return [
        Step("LEAVE_GROUP", 5, {"group_id": "~g0", "members": [old]}),
        Step("LEAVE_GROUP", 5, {"group_id": "~g0", "members": [{"member_id": "", **instance}]}),
        Step("LEAVE_GROUP", 4, {"group_id": "~g0", "members": [{"member_id": "", **instance}]}),
    ]


def _commits(versions: Versions) -> Iterator[Sequence]:
    """Commits of members, of strangers and of nobody, and what is deleted then."""
    for version in range(versions["OFFSET_COMMIT"][0], versions["OFFSET_COMMIT"][1] + 1):
        for stable in (False, True):
            steps = [create("~t0"), *(stable_group() if stable else [])]
            setup = len(steps)
            for generation, member in itertools.product((-2, -1, 0, 1, 5), ("", "x", None)):
                who = {"$": "member", "of": "~g0/0"} if member is None else member
                for topic, part, meta in (("~t0", 0, "m"), ("~t9", 0, ""), ("~t0", 9, "y" * 5000)):
                    body = {
                        "partition_index": part,
                        "committed_offset": 1,
                        "committed_metadata": meta,
                    }
                    topics = [
                        {
                            "name": topic,
                            "topic_id": {"$": "topic_id", "of": topic},
                            "partitions": [body],
                        }
                    ]
                    made = {"group_id": "~g0", "member_id": who, "topics": topics}
                    made["generation_id_or_member_epoch"] = generation
                    steps.append(Step("OFFSET_COMMIT", version, made))
            yield Sequence(f"commits v{version} stable {stable}", steps, setup=setup)
    for topic, part in (("~t9", 0), ("~t0", 9), ("~t0", 0)):
        listed = [{"name": topic, "partitions": [{"partition_index": part, "committed_offset": 1}]}]
        commit = Step("OFFSET_COMMIT", 8, {"group_id": "~g0", "topics": listed})
        delete = {"name": topic, "partitions": [{"partition_index": part}]}
        steps = [create("~t0"), commit]
        steps.append(Step("OFFSET_DELETE", 0, {"group_id": "~g0", "topics": [delete]}))
        steps.append(Step("DELETE_GROUPS", 2, {"groups_names": ["~g0"]}))
        for length in (2, 3, 4):
            yield Sequence(f"a commit alone {topic} {part} {length}", steps[:length])


def _refused_commit() -> Sequence:
    """A new group whose first commit is refused for its metadata, and is deleted then."""
    offset = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "y" * 5000}
    topics = [{"name": "~t0", "partitions": [offset]}]
    steps = [
        create("~t0"),
        Step("OFFSET_COMMIT", 8, {"group_id": "~g0", "topics": topics}),
        Step("DELETE_GROUPS", 2, {"groups_names": ["~g0"]}),
    ]
    return Sequence("a commit with too much metadata", steps)


def _deleted_topics(versions: tuple[int, int]) -> Iterator[Sequence]:
    """A group's offsets right after the deletion of their topic, in each version that has names."""
    offset = {"partition_index": 0, "committed_offset": 1}
    commit = {"group_id": "~g0", "topics": [{"name": "~t0", "partitions": [offset]}]}
    for version in range(versions[0], min(versions[1], 9) + 1):
        asked = {"topics": [{"name": "~t0", "partition_indexes": [0]}]}
        body = {"groups": [{"group_id": "~g0", **asked}]} if version >= 8 else asked
        steps = [
            create("~t0"),
            Step("OFFSET_COMMIT", 8, commit),
            Step("DELETE_TOPICS", 5, {"topic_names": ["~t0"], "timeout_ms": 30_000}),
            Step("OFFSET_FETCH", version, {"group_id": "~g0", **body}),
        ]
        yield Sequence(f"offsets of a deleted topic, v{version}", steps)


def _pending_members() -> Iterator[Sequence]:
    """A consumer that joins a classic group of which only a member id is known (KIP-394)."""
    join = {"group_id": "~g0", "session_timeout_ms": 30_000, "protocol_type": "consumer"}
    join["protocols"] = [{"name": "range", "metadata": {"$hex": "00000000000000000000"}}]
    beat = {"group_id": "~g0", "member_id": "~m2", "rebalance_timeout_ms": 60_000}
    beat |= {"subscribed_topic_names": [], "topic_partitions": []}
    again = join | {"member_id": {"$": "member", "of": "~g0/1"}}
    steps = [
        Step("JOIN_GROUP", 4, join, connection=1),
        Step("CONSUMER_GROUP_HEARTBEAT", 0, beat),
        Step("JOIN_GROUP", 4, again, connection=1),
        Step("DESCRIBE_GROUPS", 5, {"groups": ["~g0"]}),
    ]
    yield Sequence("a consumer joins beside a pending member id", steps)


def _damaged_subscriptions() -> Iterator[Sequence]:
    """Classic consumers that join a consumer group with no valid subscription."""
    beat = {"group_id": "~g0", "member_id": "~m2", "rebalance_timeout_ms": 60_000}
    beat |= {"subscribed_topic_names": [], "topic_partitions": []}
    for metadata in ("", "0000", "0003000000", "7a"):
        join = {"group_id": "~g0", "session_timeout_ms": 30_000, "protocol_type": "consumer"}
        join["protocols"] = [{"name": "range", "metadata": {"$hex": metadata}}]
        steps = [Step("CONSUMER_GROUP_HEARTBEAT", 0, beat), Step("JOIN_GROUP", 1, join)]
        yield Sequence(f"a subscription of the bytes {metadata!r}", steps)


def _walk(number: int, versions: Versions) -> Sequence:
    """One group, three members, its own APIs only."""
    rng = random.Random(f"membership walk {number}")
    weights = {
        "JOIN_GROUP": 12,
        "SYNC_GROUP": 8,
        "HEARTBEAT": 3,
        "LEAVE_GROUP": 2,
        "OFFSET_COMMIT": 3,
    }
    weights |= {"DESCRIBE_GROUPS": 3, "OFFSET_FETCH": 1}
    steps = [create("~t0")]
    while len(steps) < 30:
        api = rng.choices(list(weights), list(weights.values()))[0]
        step = random_step(rng, api, rng.randint(*versions[api]), odd=0.02)
        if step is not None and api in BODIES:
            steps.append(step)
    return Sequence(f"membership walk {number}", steps)
