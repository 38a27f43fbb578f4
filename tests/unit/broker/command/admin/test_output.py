"""What is printed, and where."""

from __future__ import annotations

import pytest

from broker.command.admin.output import done, note, show


def test_a_table_is_plain_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    show(("a", "b"), [("x", 1)], as_json=False)
    show(("a", "b"), [("x", 1)], as_json=True)
    show(("a", "b"), [], as_json=False)
    assert capsys.readouterr().out == 'A  B\nx  1\n{"a": "x", "b": 1}\n'


def test_a_note_is_no_output(capsys: pytest.CaptureFixture[str]) -> None:
    note("done")
    assert capsys.readouterr() == ("", "ottla: done\n")


def test_what_was_done_is_an_object_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    done("it is done", {"it": "x", "done": True}, as_json=False)
    assert capsys.readouterr() == ("", "ottla: it is done\n")
    done("it is done", {"it": "x", "done": True}, as_json=True)
    assert capsys.readouterr() == ('{"it": "x", "done": true}\n', "")
