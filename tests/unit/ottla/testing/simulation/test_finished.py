"""A finished run: its records and its offsets."""

from __future__ import annotations

from ottla.testing.simulation.finished import FinishedRun, logs_of, offsets_of


def test_what_a_run_left() -> None:
    logs = logs_of(
        [
            ["t", 0, [["t", 0, 0, 1, None, b"a", []]]],
            ["t", 1, [["t", 1, 0, 1, b"k", b"b", [["h", b"x"]]]]],
            ["u", 0, []],
        ]
    )
    offsets = offsets_of({"g": [["t", 0, 1], ["t", 1, 0]]})
    run = FinishedRun(1, None, [], 2.5, {}, 4, "", logs, offsets)
    assert run.texts("t") == ["a", "b"] and run.texts("u") == run.texts("x") == []
    assert run.records("t")[1].header("h") == b"x"
    assert run.committed("g", "t") == 1 and run.committed("g", "t", 1) == 0
    assert run.committed("h", "t") is None
