"""Plots are SVG that an XML parser takes, with every value where it belongs."""

from __future__ import annotations

from xml.etree import ElementTree

from pipeline.charts import HEIGHT, Series, bars, lines, times

LABELS = ["a", "b <&>", "c"]


def elements(svg: str, tag: str) -> list[ElementTree.Element]:
    return ElementTree.fromstring(svg).findall(tag)


def test_a_bar_is_as_high_as_its_value() -> None:
    rects = elements(bars(LABELS, Series("s", [1.0, None, 2.0]), "1/s"), "rect")
    heights = [float(one.attrib["height"]) for one in rects]
    assert heights[2] == 2 * heights[0] > 0 == heights[1]


def test_a_line_leaves_out_what_is_missing() -> None:
    svg = lines(LABELS, [Series("p", [1, None, 3]), Series("q", [0, 0, 0])], "s")
    points = [one.attrib["points"].split() for one in elements(svg, "polyline")]
    assert [len(one) for one in points] == [2, 3]
    assert all(0 <= float(point.split(",")[1]) <= HEIGHT for one in points for point in one)


def test_nothing_at_all_is_a_frame() -> None:
    assert elements(bars([], Series("s", []), "x"), "rect") == []


def test_labels_of_time() -> None:
    assert times([0, 3_600_000], 3_600_000) == ["00:00", "01:00"]
    assert times([1_000], 1_000) == ["00:00:01"]
    day = 86_400_000
    assert times([0, day], 3_600_000) == ["01-01 00:00", "01-02 00:00"], "more than one day"
    assert times([0, 6 * day], 6 * day) == ["1970-01-01", "1970-01-07"]


def test_the_unit_and_several_lines_are_named() -> None:
    words = [
        one.text
        for one in elements(lines(LABELS, [Series("p", [1]), Series("q", [2])], "s"), "text")
    ]
    assert words[:3] == ["s", "p", "q"]
    assert [one.text for one in elements(bars(LABELS, Series("n", [1]), "1/s"), "text")][0] == "1/s"
