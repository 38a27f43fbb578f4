"""The arithmetic of growth, the order of turns, and what is told of it."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from bench.curves import Curve, Prepared
from bench.growth import PeerCurve, as_json, in_turns, table
from bench.growth_picture import picture, round_up
from bench.scenario import WindowResult
from tests.unit.bench.counted_peer import CountedPeer


def prepare(_peer: object, _size: int) -> Prepared:
    raise AssertionError("nothing is started here")


CURVE = Curve("things", "things", "Ask", (10, 100), prepare)
IDLE = {10: 0.001, 100: 0.002}
MEMORY = {10: 40.0, 100: 41.0}


def measured(peer: str, least: list[float], most: list[float]) -> PeerCurve:
    return PeerCurve("things", peer, {10: least, 100: most}, IDLE, MEMORY)


def test_growth_compares_turns_not_medians() -> None:
    # A machine that gets slower and slower, and a cost that does not depend on the size.
    flat = measured("ottla", [10e-6, 20e-6, 40e-6], [11e-6, 21e-6, 41e-6])
    assert flat.growth[10] == 1
    assert flat.growth[100] == pytest.approx(21 / 20)
    assert flat.is_flat
    grows = measured("ottla", [10e-6, 20e-6, 40e-6], [15e-6, 30e-6, 60e-6])
    assert grows.growth[100] == pytest.approx(1.5)
    assert not grows.is_flat
    assert grows.cost_us == {10: pytest.approx(20), 100: pytest.approx(30)}


def test_turns_go_forwards_and_backwards() -> None:
    order: list[int] = []
    peers = {size: CountedPeer(cost_s=size * 1e-6) for size in (10, 100)}

    def load_of(size: int):  # type: ignore[no-untyped-def]
        def load(_seconds: float) -> WindowResult:
            order.append(size)
            return WindowResult(peers[size].serve(5))

        return load

    found = in_turns({size: (peers[size], load_of(size)) for size in peers}, 3, 1.0)
    assert order == [10, 100, 100, 10, 10, 100]
    assert found[10] == pytest.approx([10e-6] * 3)
    assert found[100] == pytest.approx([100e-6] * 3)


def test_the_table_names_what_grows() -> None:
    grows = measured("ottla", [10e-6], [15e-6])
    other = measured("kafka", [50e-6], [50e-6])
    lines = table([CURVE], [grows, other])
    assert lines[0] == "things (Ask)"
    assert "grows" in lines[2] and "1.50 ×" in lines[2]
    assert len(lines) == 5
    assert not [line for line in (*lines[:2], *lines[3:]) if "grows" in line]


def test_every_turn_is_kept() -> None:
    kept = json.loads(as_json([measured("ottla", [10e-6, 20e-6], [15e-6, 30e-6])]))
    (curve,) = kept["curves"]
    assert curve["us_per_request"] == [[10, 20], [15, 30]]
    assert curve["sizes"] == [10, 100]
    assert curve["growth"] == [1, 1.5]


def test_the_picture_has_a_point_for_each_size_of_each_peer() -> None:
    both = [measured("ottla", [10e-6], [15e-6]), measured("<kafka>", [50e-6], [50e-6])]
    root = ElementTree.fromstring(picture([CURVE], both))
    circles = root.findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 4
    # More cost is drawn higher, and everything within its panel.
    heights = [float(circle.get("cy", "")) for circle in circles]
    assert heights[0] > heights[1] > heights[2] == heights[3] >= 40


@pytest.mark.parametrize(("value", "top"), [(0.5, 1), (1, 1), (3, 5), (49, 50), (51, 100)])
def test_axes_end_at_round_numbers(value: float, top: float) -> None:
    assert round_up(value) == top
