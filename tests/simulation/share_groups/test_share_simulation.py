"""Share groups in a cluster, seed by seed; and brokers that break a rule of theirs: each is caught.

Thousands of seeds run by command (`python -m tests.simulation --shares`).
"""

from __future__ import annotations

import pytest

from tests.simulation.__main__ import Job
from tests.simulation.share_groups.share_mutants import QUICK, SHARE_MUTANTS, plan_of, share_failure
from tests.simulation.simulation import Simulation

pytestmark = pytest.mark.slow

FOUND = {
    7: "a state was loaded with a hole before the log's start, and fetches read there for ever",
    19: "a state was initialized again while the first answer was to come",
    116: "all records in flight were final, and the log began behind them: the start offset fell",
    123: "dead letters were lost, as too few brokers were alive to create their topic",
    134: "the log of the next leader began before that of the last; what it had deleted counted as "
    "lost (a false alarm)",
    146: "after a load all was final, and the start offset stays until the leader reads on: that "
    "is no record that is left (a false alarm)",
    10019: "a state was compared with its log without what had just been appended (a false alarm)",
    10037: "dead letters were looked for at leaders alone, and there was none (a false alarm)",
    10055: "the leader's clock was ahead of the world's when a lock ended (a false alarm)",
    11432: "an initialization that is tried again was logged as an error",
    11257: "a hole of a loaded state was deleted from the log, and held a full window back",
    10461: "a dead letter was given up after five attempts, as leaders changed often",
    10245: "a heartbeat without records was answered before the epoch that it told was committed",
    10007: "a write failed after the timer of the locks had ended, and its records stayed locked",
}
"""Seeds in which something was wrong once."""


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("seed", range(6))
def test_every_invariant_holds(seed: int) -> None:
    shared = Simulation(seed, plan_of(seed)).run().shared
    assert shared.accepts > 50, "too little happened to prove anything"
    assert shared.redeliveries > 0


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("seed", FOUND)
def test_what_was_wrong_once_holds_now(seed: int) -> None:
    assert Simulation(seed, Job(seed, 3, shares=True).plan).run().shared.accepts > 50


@pytest.mark.long(sample=2)
@pytest.mark.parametrize("name", QUICK)
def test_a_broken_rule_is_caught(name: str) -> None:
    failure = share_failure(name)
    assert failure is not None, "nobody noticed"
    assert failure.invariant in SHARE_MUTANTS[name][1], failure
