"""What ends by itself: sessions, rebalances and transactions, with time-outs of a fraction of a
second, and pauses that are well beyond them."""

from __future__ import annotations

from collections.abc import Iterator

from tests.differential.generate import Versions
from tests.differential.grids.steps import (
    add,
    batch_of,
    create,
    end,
    init,
    join,
    produce,
    stable_group,
)
from tests.differential.sequence import Sequence, Step

SHORT_MS = 200
LONG_S = 0.7
ABORTED_S = 0.9


def _later(step: Step, pause_s: float = LONG_S) -> Step:
    step.pause_s = pause_s
    return step


def _describe() -> Step:
    return Step("DESCRIBE_GROUPS", 6, {"groups": ["~g0"]}, 5)


def grid(versions: Versions) -> Iterator[Sequence]:
    short = {"session_timeout_ms": SHORT_MS}
    instance = {"group_instance_id": "~i0"}
    yield Sequence(
        "a member whose session runs out",
        [join(member_id="", **short), join(**short), _describe(), _later(_describe())],
    )
    yield Sequence(
        "a static member whose session runs out",
        [join(member_id="", **short, **instance), _describe(), _later(_describe())],
    )
    yield Sequence(
        "a member id that is never used",
        [join(member_id="", **short), _describe(), _later(_describe())],
    )
    yield Sequence(
        "a rebalance that runs out",
        [
            *stable_group(),
            join(1, member_id="", rebalance_timeout_ms=SHORT_MS),
            join(1, rebalance_timeout_ms=SHORT_MS),
            _describe(),
            _later(_describe(), 1.2),
        ],
    )
    yield Sequence(
        "an assignment that never comes",
        [join(member_id="", **short), join(rebalance_timeout_ms=SHORT_MS), _later(_describe())],
    )
    for version in (11, versions["PRODUCE"][1]):
        batch = batch_of("~x0", txn=True)
        first = [] if version > 11 else [add()]
        for number, last in enumerate((end(), end(version=5), end(committed=False), init(), add())):
            yield Sequence(
                f"a transaction that runs out v{version}, then {number}",
                [
                    create("~t0"),
                    init(transaction_timeout_ms=SHORT_MS),
                    *first,
                    produce([batch], txn="~x0", version=version),
                    _later(last, ABORTED_S),
                ],
            )
