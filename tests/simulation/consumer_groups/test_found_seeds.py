"""Seeds with groups that the broker assigns in which something was wrong once."""

from __future__ import annotations

import pytest

from tests.simulation.__main__ import Job
from tests.simulation.simulation import Simulation

pytestmark = pytest.mark.slow

FOUND = {
    400049: "a simulated member that was told NOT_COORDINATOR did not say everything again, and "
    "never heard what it was to give up (I29)",
    730277: "an answer of a coordinator that was replaced gave a partition, which counted all the "
    "same, and the commit of its new owner was taken for a stranger's (I25)",
    741172: "that a classic group is empty was not written, as replicas were missing; the consumer "
    "group after it counts anew, and that was taken for a fall of its epoch (I28)",
    741741: "a group that became classic was to rebalance when it was led elsewhere (an assertion)",
    740471: "a member had to give up something for an older target first: a round too few was "
    "granted (I29)",
    741239: "a member's new expression was not looked up yet: what it shall have was judged (I29)",
    900055: "a member that had timed out joined again before the time for that commit was "
    "over; the removal was then tried again after 1 s, whatever was heard meanwhile (I23)",
    900894: "the answer that took a partition from a classic member was lost, and the group became "
    "a consumer group before its session ended (I23)",
    494630: "a JoinGroup that a classic member had given up arrived late, and gave it a partition "
    "that it got with its next SyncGroup only (I29)",
    901843: "a SyncGroup of a stable group was taken for a sign of life (I23)",
    400602: "ten members that committed all the time kept a cluster from coming to rest (I13)",
}
WITH_QUOTAS = (494630,)


@pytest.mark.long(sample=4)
@pytest.mark.parametrize("seed", FOUND)
def test_what_was_wrong_once_holds_now(seed: int) -> None:
    outcome = Simulation(seed, Job(seed, 3, seed in WITH_QUOTAS, groups=True).plan).run()
    assert outcome.grouped.joins > 5, "too little happened to prove anything"
