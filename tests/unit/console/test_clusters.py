"""Connections of the console: one for a thread, few kept, none kept that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from broker.config.start_error import StartError
from client.cluster import Address, ClusterClient
from console.clusters import KEPT, KEPT_S, Clusters

SEEN = [("one", 9092), ("two", 9092)]


class Connected:
    def __init__(self) -> None:
        self.is_closed = False
        self.broker_ids = [1, 2]
        self.addresses = SEEN

    def close(self) -> None:
        self.is_closed = True


class Place:
    def __init__(self) -> None:
        self.made: list[Connected] = []
        self.known: list[Sequence[Address]] = []
        self.now_s = 0.0
        self.clusters = Clusters(self._connect, lambda: self.now_s)

    def _connect(self, known: Sequence[Address]) -> ClusterClient:
        self.known.append(known)
        self.made.append(Connected())
        return cast(ClusterClient, self.made[-1])

    def use(self) -> Connected:
        with self.clusters.taken() as cluster:
            return cast(Connected, cluster)


def test_one_is_used_again() -> None:
    place = Place()
    assert place.use() is place.use()
    assert len(place.made) == 1


def test_two_at_once_are_two_and_few_are_kept() -> None:
    place = Place()
    taken = [place.clusters.taken() for _ in range(KEPT + 2)]
    used = [cast(Connected, one.__enter__()) for one in taken]
    assert len(set(map(id, used))) == KEPT + 2
    for one in taken:
        one.__exit__(None, None, None)
    assert sum(not one.is_closed for one in used) == KEPT


def test_after_a_failure_none_is_kept() -> None:
    place = Place()
    with place.clusters.taken() as first, place.clusters.taken():
        assert first is not None
    with pytest.raises(StartError), place.clusters.taken():
        raise StartError("broker 1 is gone")
    assert all(one.is_closed for one in place.made)


def test_an_error_of_the_question_costs_that_connection_alone() -> None:
    place = Place()
    with place.clusters.taken(), place.clusters.taken():
        pass
    with pytest.raises(ValueError), place.clusters.taken():
        raise ValueError
    assert [one.is_closed for one in place.made].count(True) == 1


def test_where_the_next_one_may_connect() -> None:
    place = Place()
    with place.clusters.taken(), place.clusters.taken() as second:
        cast(Connected, second).broker_ids = []  # it has not asked who there is
        cast(Connected, second).addresses = SEEN[:1]
    with pytest.raises(StartError), place.clusters.taken(), place.clusters.taken():
        raise StartError("broker 1 is gone")
    place.use()
    assert place.known == [(), (), SEEN]


def test_what_nobody_uses_is_closed_after_a_while() -> None:
    place = Place()
    with place.clusters.taken(), place.clusters.taken():
        pass
    first = place.use()  # of the two that are kept, the one that was given back last
    (other,) = (one for one in place.made if one is not first)
    place.now_s = KEPT_S / 2
    assert place.use() is first and not other.is_closed
    place.now_s = KEPT_S + 1
    assert place.use() is first and other.is_closed
    place.clusters.close()
    assert first.is_closed
