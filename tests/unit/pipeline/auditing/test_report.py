"""The terminal's table and the page: all that was found, one verdict, nothing from elsewhere."""

from __future__ import annotations

from dataclasses import replace

from pipeline.auditing.audit_checks import Check
from pipeline.auditing.report import Plot, Section, Table, columns, html, terminal, verdict

GOOD, BAD = Check("one", True, "fine"), Check("two <b>", False, "5 & 6")
SECTION = Section(
    "topic t", ["7 records"], [Table(["partition", "n"], [["0", "1,000"]])], [Plot("p", "<svg/>")]
)


def test_the_verdict() -> None:
    assert verdict([GOOD, GOOD]) == "nothing lost, nothing duplicated: 2 checks hold"
    assert verdict([GOOD]) == "nothing lost, nothing duplicated: 1 check holds"
    assert verdict([]).startswith("nothing was compared")
    noted = replace(GOOD, note="3 offsets were skipped")
    assert verdict([GOOD, noted]) == (
        "nothing else lost, nothing duplicated: 2 checks hold; 3 offsets were skipped"
    )
    assert verdict([GOOD, BAD]) == "1 of 2 checks do not hold"


def test_the_terminal() -> None:
    lines = terminal([SECTION], [GOOD, BAD]).splitlines()
    assert lines[0] == "topic t"
    assert "  ok    one: fine" in lines and "  FAIL  two <b>: 5 & 6" in lines
    assert lines[-1] == "1 of 2 checks do not hold"


def test_columns_are_aligned() -> None:
    assert columns(Table(["partition", "n"], [["0", "1,000"]])) == [
        "partition      n",
        "        0  1,000",
    ]
    assert columns(Table(["reason", "n"], [["not JSON", "7"], ["x", "12"]])) == [
        "reason     n",
        "not JSON   7",
        "x         12",
    ]


def test_the_page_needs_nothing_beside_it_and_escapes_what_it_shows() -> None:
    page = html("Audit", ["of <now>"], [SECTION], [GOOD, BAD])
    assert (
        "two &lt;b&gt;" in page
        and "<p>of &lt;now&gt;</p>" in page
        and "5 &amp; 6" in page
        and "<svg/>" in page
    )
    for word in ("http", "src=", "href=", "@import", "url("):
        assert word not in page


def test_a_list_of_brokers_breaks_behind_a_comma() -> None:
    page = html("Audit", ["at h:19092,h:19093"], [], [])
    assert "<p>at h:19092,<wbr>h:19093</p>" in page
