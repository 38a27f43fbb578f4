"""The processes beside the broker: what they tell, and how they end."""

from __future__ import annotations

import pytest

from bench.innocent.processes import LineProcess, innocent_client, load

NOWHERE = 1


def test_its_lines_come_one_by_one_and_the_last_is_json() -> None:
    with LineProcess("json.tool", ["--json-lines", "--compact"]) as one:
        assert one.line(0.0) is None
        with pytest.raises(TimeoutError, match="is not ready after 0 s"):
            one.expect("ready", 0.0)
        assert one._process.stdin is not None
        one._process.stdin.write(b'"ready"\n[1, 2]\n')
        one.close_input()
        one.expect('"ready"', 10.0)
        assert one.last() == [1, 2]
        with pytest.raises(RuntimeError, match=r"json\.tool ended"):
            one.line(10.0)


def test_another_line_than_expected() -> None:
    with LineProcess("json.tool", ["--json-lines"]) as one:
        assert one._process.stdin is not None
        one._process.stdin.write(b"7\n")
        one.close_input()
        with pytest.raises(RuntimeError, match="says '7', not 'ready'"):
            one.expect("ready", 10.0)


def test_why_it_ended_is_told() -> None:
    for start in (
        lambda: innocent_client(NOWHERE, "t", 50.0),
        lambda: load("slow-senders", NOWHERE),
    ):
        with start() as one, pytest.raises(RuntimeError, match="ConnectionRefusedError"):
            one.expect("ready", 20.0)
