"""`controller.decisions.leader_election`: who is tried, in which order."""

from __future__ import annotations

import pytest

from controller.decisions.leader_election import Candidates, Election, ElectionResult, elect_leader

ONLINE, PREFERRED, UNCLEAN = Election.ONLINE, Election.PREFERRED, Election.UNCLEAN


def elect(candidates: Candidates, alive: list[int], election: Election = ONLINE) -> ElectionResult:
    return elect_leader(candidates, election, lambda broker: broker in alive)


def test_a_leader_that_can_stay_stays() -> None:
    assert elect(Candidates([1, 2, 3], [1, 2], 2), [1, 2, 3]) == (2, False)


def test_preferred() -> None:
    candidates = Candidates([1, 2, 3], [1, 2], 2)
    assert elect(candidates, [1, 2], PREFERRED).leader == 1
    assert elect(candidates, [2, 3], PREFERRED).leader == 2
    out_of_sync = Candidates([3, 1, 2], [1, 2], 2)
    assert elect(out_of_sync, [1, 2, 3], PREFERRED).leader == 2


def test_the_first_replica_in_sync_that_is_alive() -> None:
    candidates = Candidates([1, 2, 3], [3, 2], 1)
    assert elect(candidates, [1, 2, 3]).leader == 2
    assert elect(candidates, [1, 3]).leader == 3


def test_nobody_in_sync_is_alive() -> None:
    candidates = Candidates([1, 2, 3], [1], 1)
    assert elect(candidates, [2, 3]) == (-1, False)
    assert elect(candidates, [2, 3], UNCLEAN) == (2, True)
    assert elect(candidates, [1, 2], UNCLEAN) == (1, False)


@pytest.mark.parametrize("enabled", [False, True])
def test_eligible_leader_replicas(enabled: bool) -> None:
    """KIP-966: a replica of the ELR has everything that was committed."""
    candidates = Candidates([1, 2, 3], [], -1, (3,), (), enabled)
    assert elect(candidates, [1, 2, 3]) == ((3, False) if enabled else (-1, False))


def test_the_last_known_leader_returns_when_all_proof_is_gone() -> None:
    candidates = Candidates([1, 2], [], -1, (), (1,), True)
    assert elect(candidates, [1, 2]) == (1, True)
    assert elect(candidates, [2]) == (-1, False)
    assert elect(Candidates([1, 2], [], -1, (), (2, 1), True), [1, 2]) == (2, True)
    assert elect(Candidates([1, 2], [], -1, (), (2, 1), True), [1]) == (-1, False), "2 may come"


def test_no_replicas() -> None:
    assert elect(Candidates([], [], -1), [1], PREFERRED).leader == -1
