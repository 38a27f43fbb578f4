"""Names of a segment's files."""

from __future__ import annotations

from log_format.segment_names import LOG_SUFFIX, base_offset_of, offset_name, segment_path


def test_twenty_digits() -> None:
    assert offset_name(42) + LOG_SUFFIX == "00000000000000000042.log"
    assert offset_name(2**63 - 1) == "09223372036854775807"


def test_a_path() -> None:
    assert segment_path("/d/t-0", 42, LOG_SUFFIX) == "/d/t-0/00000000000000000042.log"


def test_other_names_are_no_segments() -> None:
    assert base_offset_of(f"{42:020d}.log", LOG_SUFFIX) == 42
    others = ("42.log", f"{42:020d}.index", f"{2**63:020d}.log", "\u0663" * 20 + ".log", ".log")
    assert [base_offset_of(name, LOG_SUFFIX) for name in others] == [None] * 5
