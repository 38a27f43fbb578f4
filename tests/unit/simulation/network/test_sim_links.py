"""Links: cut and slow each way for itself; what was held arrives after the heal, in its order."""

from __future__ import annotations

import random
from functools import partial

from ground.sim_scheduler import SimScheduler
from simulation.network.sim_links import RETRANSMIT_MS, Handshake, Links, OneWayWire


def links() -> Links:
    return Links(SimScheduler(), random.Random(1))


def test_a_wire_keeps_order() -> None:
    all_links, seen = links(), []
    wire = OneWayWire(all_links, "a", "b")
    wire.carry(lambda: seen.append(1), 10.0)
    wire.carry(lambda: seen.append(2), 1.0)
    all_links.world.run_for(11.0)
    assert seen == [1, 2]


def test_what_a_cut_link_carries_arrives_after_the_heal() -> None:
    all_links, seen = links(), []
    there, back = OneWayWire(all_links, "a", "b"), OneWayWire(all_links, "b", "a")
    all_links.cut("a", "b")
    for number in range(3):
        there.carry(lambda number=number: seen.append(number), 1.0)
    back.carry(lambda: seen.append("back"), 1.0)
    all_links.world.run_for(100.0)
    assert seen == ["back"] and all_links.is_cut("a", "b") and not all_links.is_cut("b", "a")
    all_links.mend("a", "b")
    all_links.world.run_for(RETRANSMIT_MS)
    assert seen == ["back", 0, 1, 2]


def test_a_link_that_is_cut_again_holds_again() -> None:
    all_links, seen = links(), []
    wire = OneWayWire(all_links, "a", "b")
    all_links.cut_both("a", "b")
    wire.carry(lambda: seen.append(1), 1.0)
    all_links.world.run_for(10.0)
    all_links.heal()
    all_links.cut("a", "b")
    all_links.world.run_for(RETRANSMIT_MS)
    assert seen == []
    all_links.heal()
    all_links.world.run_for(RETRANSMIT_MS)
    assert seen == [1]


def test_a_slow_link_takes_longer_until_the_heal() -> None:
    all_links = links()
    all_links.slow("a", "b", 500.0)
    assert 0 < all_links.extra_ms("a", "b") <= 500.0 and all_links.extra_ms("b", "a") == 0.0
    all_links.heal()
    assert all_links.extra_ms("a", "b") == 0.0


def test_a_connection_is_made_at_once_where_both_ways_are_whole() -> None:
    all_links, seen = links(), []
    opening = Handshake(all_links, "a", "b")
    opening.then(lambda: seen.append(1))
    assert opening.made and seen == [1]
    all_links.cut_both("a", "b")
    opening.then(lambda: seen.append(2))
    assert seen == [1, 2], "what was made is made: the wire holds what is sent now"


def test_no_connection_is_made_over_a_link_that_is_cut_one_way() -> None:
    for cut in (("a", "b"), ("b", "a")):
        all_links, seen = links(), []
        opening = Handshake(all_links, "a", "b")
        all_links.cut(*cut)
        for number in (1, 2):
            opening.then(partial(seen.append, number))
        all_links.world.run_for(1_000.0)
        assert seen == [] and not opening.made
        all_links.heal()
        all_links.world.run_for(RETRANSMIT_MS)
        assert seen == [1, 2] and opening.made


def test_it_waits_for_the_second_way_after_the_first() -> None:
    all_links, seen = links(), []
    opening = Handshake(all_links, "a", "b")
    all_links.cut_both("a", "b")
    opening.then(lambda: seen.append(1))
    all_links.mend("a", "b")
    all_links.world.run_for(RETRANSMIT_MS)
    assert seen == []
    all_links.mend("b", "a")
    all_links.world.run_for(RETRANSMIT_MS)
    assert seen == [1]


def test_who_hangs_up_before_it_is_made_has_sent_nothing() -> None:
    all_links, seen = links(), []
    opening = Handshake(all_links, "a", "b")
    all_links.cut("b", "a")
    opening.then(lambda: seen.append(1))
    opening.give_up()
    all_links.heal()
    all_links.world.run_for(RETRANSMIT_MS)
    assert seen == [] and not opening.made
