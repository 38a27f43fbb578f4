"""Transactions: who may begin, add, end, recover in which state, by both protocols, and walks."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from tests.differential.bodies_of_data import topic_id, without_ids
from tests.differential.generate import Versions, random_step
from tests.differential.grids.steps import add, batch_of, create, end, init, produce, who
from tests.differential.sequence import Sequence, Step

WALKS = 120


def grid(versions: Versions) -> Iterator[Sequence]:
    states = _states(versions["PRODUCE"][1])
    for name, before in states.items():
        yield from _inits(name, before)
        yield from _ends(name, before)
        yield from _others(name, before, versions)
    for number in range(WALKS):
        yield _walk(number, versions)


def _states(latest: int) -> dict[str, list[Step]]:
    """Steps that bring `~x0` into each state, by the first protocol and by the second."""
    begun = [create("~t0"), init()]
    first = [*begun, add(), produce([batch_of("~x0", txn=True)], txn="~x0", version=11)]
    second = [*begun, produce([batch_of("~x0", txn=True)], txn="~x0", version=latest)]
    return {
        "none": [create("~t0")],
        "empty": begun,
        "added": [*begun, add()],
        "ongoing": first,
        "ongoing 2": second,
        "committed": [*first, end()],
        "aborted": [*first, end(committed=False)],
        "committed 2": [*second, end(version=5)],
        "aborted 2": [*second, end(version=5, committed=False)],
        "fenced": [*first, init()],
    }


def _inits(name: str, before: list[Step]) -> Iterator[Sequence]:
    for version, epoch, other in itertools.product((2, 3, 4, 5), (-1, 0, 1), (False, True)):
        if version == 2 and (epoch or other):
            continue
        body = {} if version == 2 else who("~x0", epoch, other)
        steps = [*before, init(version=version, **body), init(version=version, **body)]
        yield Sequence(f"init in {name} v{version} epoch {epoch} other {other}", steps)
    for timeout in (-1, 0, 900_000, 900_001):
        steps = [*before, init(version=4, transaction_timeout_ms=timeout)]
        yield Sequence(f"init in {name} timeout {timeout}", steps)


def _ends(name: str, before: list[Step]) -> Iterator[Sequence]:
    for version, epoch, commit in itertools.product((0, 4, 5), (-1, 0, 1), (True, False)):
        one = end(version=version, committed=commit, **who("~x0", epoch))
        for again in (True, False):
            other = end(version=version, committed=again, **who("~x0"))
            steps = [*before, one, other]
            yield Sequence(f"end in {name} v{version} epoch {epoch} {commit} {again}", steps)


def _others(name: str, before: list[Step], versions: Versions) -> Iterator[Sequence]:
    for epoch in (-1, 0, 1):
        known = who("~x0", epoch)
        for version in (11, versions["PRODUCE"][1]):
            batch = batch_of("~x0", txn=True)
            batch["epoch"] = known["producer_epoch"]
            for txn, bit in (("~x0", True), (None, True), ("~x0", False), ("~x1", True)):
                one = produce([{**batch, "txn": bit}], txn=txn, version=version)
                yield Sequence(f"produce in {name} v{version} {epoch} {txn} {bit}", [*before, one])
        for version, parts in itertools.product((0, 3), ((0,), (1,), (0, 9), ())):
            one = add(version=version, partitions=parts, **known)
            yield Sequence(f"add in {name} v{version} {epoch} {parts}", [*before, one])
        for version, verify in itertools.product((4, 5), (True, False)):
            body = {"transactional_id": "~x0", **known, "verify_only": verify}
            body["topics"] = [{"name": "~t0", "partitions": [0, 1]}]
            one = Step("ADD_PARTITIONS_TO_TXN", version, {"transactions": [body]})
            yield Sequence(f"add in {name} v{version} {epoch} verify {verify}", [*before, one])
        yield from _offsets(name, before, epoch, versions["TXN_OFFSET_COMMIT"][1])
        for outcome, coordinator in itertools.product((True, False), (-1, 0, 1)):
            marker = {**known, "transaction_result": outcome, "coordinator_epoch": coordinator}
            marker["topics"] = [{"name": "~t0", "partition_indexes": [0, 9]}]
            for version in (1, 2):
                one = Step("WRITE_TXN_MARKERS", version, {"markers": [marker]})
                yield Sequence(
                    f"marker in {name} v{version} {epoch} {outcome} {coordinator}", [*before, one]
                )


def _offsets(name: str, before: list[Step], epoch: int, latest: int) -> Iterator[Sequence]:
    known = who("~x0", epoch)
    offset = {"partition_index": 0, "committed_offset": 3}
    listed = [{"name": "~t0", "topic_id": topic_id("~t0"), "partitions": [offset]}]
    for version, adds in itertools.product((0, 3, 4, 5, 6), (True, False)):
        if version > latest:
            continue
        first = Step(
            "ADD_OFFSETS_TO_TXN", 3, {"transactional_id": "~x0", **known, "group_id": "~g0"}
        )
        body = {"transactional_id": "~x0", "group_id": "~g0", **known}
        body["topics"] = listed if version >= 6 else without_ids(listed)
        commit = Step("TXN_OFFSET_COMMIT", version, body)
        fetch = {"groups": [{"group_id": "~g0", "topics": None}], "require_stable": False}
        steps = [*before, *([first] if adds else []), commit, Step("OFFSET_FETCH", 8, fetch)]
        yield Sequence(f"offsets in {name} v{version} {epoch} adds {adds}", steps)
        for number, last in enumerate((end(), end(version=5), end(version=5, committed=False))):
            yield Sequence(
                f"offsets ended in {name} v{version} {epoch} {adds} by {number}", [*steps, last]
            )


def _walk(number: int, versions: Versions) -> Sequence:
    """One or two producers through transactions of one protocol, nearly all in order."""
    rng = random.Random(f"transaction walk {number}")
    second = number % 2
    weights = {
        "INIT_PRODUCER_ID": 3,
        "PRODUCE": 10,
        "END_TXN": 6,
        "FETCH": 3,
        "TXN_OFFSET_COMMIT": 2,
    }
    weights["ADD_PARTITIONS_TO_TXN" if not second else "LIST_OFFSETS"] = 6
    weights["ADD_OFFSETS_TO_TXN"] = 0 if second else 2
    fixed = {"PRODUCE": 12, "END_TXN": 5, "TXN_OFFSET_COMMIT": 6} if second else {}
    fixed |= {} if second else {"PRODUCE": 11, "END_TXN": 4, "ADD_PARTITIONS_TO_TXN": 3}
    steps = [create("~t0"), create("~t1"), init("~x0"), init("~x1")]
    while len(steps) < 30:
        api = rng.choices(list(weights), list(weights.values()))[0]
        version = min(fixed.get(api, versions[api][1]), versions[api][1])
        step = random_step(rng, api, version, odd=0.02)
        if step is not None:
            steps.append(step)
    return Sequence(f"transaction walk {number}", steps)
