"""So many lines a second, what was left out, and what a peer may write."""

from __future__ import annotations

from broker.loop.log_limit import CHARACTERS_MAX, LogLimit, printable


def test_so_many_lines_a_second() -> None:
    now_s = 0.0
    limit = LogLimit(2, lambda: now_s)
    assert [limit.next_line() for _ in range(5)] == [0, 0, None, None, None]
    now_s = 0.9
    assert limit.next_line() is None
    now_s = 1.1
    assert [limit.next_line() for _ in range(3)] == [4, 0, None]


def test_a_peers_words_are_one_short_line() -> None:
    assert printable("a\nb\x1b[31mc") == "a?b?[31mc"
    assert len(printable("x" * 5000)) == CHARACTERS_MAX + 1
