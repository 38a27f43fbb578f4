"""Plots are SVG that an XML parser takes, with every value where it belongs."""

from __future__ import annotations

from xml.etree import ElementTree

from pipeline.auditing.charts import (
    HEIGHT,
    WIDTH,
    Mark,
    Series,
    Timed,
    bars,
    lines,
    over_time,
    times,
)

LABELS = ["a", "b <&>", "c"]


def elements(svg: str, tag: str) -> list[ElementTree.Element]:
    return ElementTree.fromstring(svg).findall(tag)


def test_a_bar_is_as_high_as_its_value() -> None:
    rects = elements(bars(LABELS, Series("s", [1.0, None, 2.0]), "1/s", "x"), "rect")
    heights = [float(one.attrib["height"]) for one in rects]
    assert heights[2] == 2 * heights[0] > 0 == heights[1]


def test_a_line_ends_where_something_is_missing_and_one_alone_is_a_point() -> None:
    svg = lines(LABELS, [Series("p", [1, None, 3]), Series("q", [0, 0, 0])], "s", "x")
    points = [one.attrib["points"].split() for one in elements(svg, "polyline")]
    assert [len(one) for one in points] == [2, 2, 3]
    assert points[0][0] == points[0][1] != points[1][0] == points[1][1]
    assert all(0 <= float(point.split(",")[1]) <= HEIGHT for one in points for point in one)


def test_nothing_at_all_is_a_frame() -> None:
    assert elements(bars([], Series("s", []), "x", "y"), "rect") == []


def test_labels_of_time() -> None:
    assert times([0, 3_600_000], 3_600_000) == ["00:00", "01:00"]
    assert times([1_000], 1_000) == ["00:00:01"]
    day = 86_400_000
    assert times([0, day], 3_600_000) == ["01-01 00:00", "01-02 00:00"], "more than one day"
    assert times([0, 6 * day], 6 * day) == ["1970-01-01", "1970-01-07"]


def words(svg: str) -> list[str | None]:
    return [one.text for one in elements(svg, "text")]


def test_both_axes_and_several_lines_are_named() -> None:
    many = lines(LABELS, [Series("p", [1]), Series("q", [2])], "s", "time (UTC)")
    assert words(many)[:2] == ["s", "time (UTC)"] and words(many)[-2:] == ["p", "q"]
    one = bars(LABELS, Series("n", [1]), "1/s", "partition")
    assert words(one)[:2] == ["1/s", "partition"] and "n" not in words(one)


def test_an_axis_goes_by_round_numbers() -> None:
    for most, wanted in (
        (4.5, ["0", "1", "2", "3", "4", "5"]),
        (36, ["0", "10", "20", "30", "40"]),
        (38_550, ["0", "10 k", "20 k", "30 k", "40 k"]),
        (0.02, ["0", "0.005", "0.01", "0.015", "0.02"]),
        (0, ["0", "1"]),
    ):
        found = words(bars(["a"], Series("n", [most]), "1/s", "x"))
        assert found[2:-1] == wanted


def test_no_more_labels_than_there_is_room_for() -> None:
    long = times([n * 86_400_000 for n in range(60)], 86_400_000)
    svg = bars(long, Series("n", [1] * 60), "1/s", "time (UTC)")
    shown = [one for one in elements(svg, "text") if one.attrib.get("class") == "mid"]
    assert 3 <= len(shown) <= 440 // (len("1970-01-01") * 6), "letters of six units"


def test_marks_stand_at_their_times() -> None:
    many = [Timed("sent", [[(10, 1.0), (20, 2.0)]]), Timed("took", [[(30, 4.0)]])]
    svg = over_time(many, "1/s", (10, 30), [Mark(20, "1"), Mark(99, "2")])
    marks = [one for one in elements(svg, "line") if one.attrib["class"] == "mark"]
    first, second = (float(one.attrib["x1"]) for one in marks)
    runs = [one.attrib["points"].split() for one in elements(svg, "polyline")]
    assert float(runs[0][1].split(",")[0]) == first < second <= WIDTH
    assert runs[1][0] == runs[1][1], "one alone is a point"
    assert [word for word in words(svg) if word in ("10", "15", "20", "25", "30")]
    assert {"1", "2", "sent", "took", "seconds"} <= set(words(svg))
    near = over_time(many, "1/s", (10, 30), [Mark(20, "1"), Mark(20.1, "2"), Mark(29, "3")])
    assert {"1, 2", "3"} <= set(words(near)), "two that stand together are one"
    assert "<polyline" not in over_time([Timed("", [])], "s", (0, 0), [])
