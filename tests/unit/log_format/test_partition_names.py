from __future__ import annotations

import pytest

from log_format.partition_names import is_set_aside, partition_of


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a-0", ("a", 0)),
        ("a.b-c_d-11", ("a.b-c_d", 11)),
        ("a-1-2", ("a-1", 2)),
        ("a", None),
        ("-1", None),
        ("a-01", None),
        ("a-x", None),
        ("a-²", None),
        ("a-0.0123456789abcdef-delete", None),
    ],
)
def test_names(name: str, found: tuple[str, int] | None) -> None:
    assert partition_of(name) == found


def test_folders_that_are_set_aside() -> None:
    assert is_set_aside("a-0.0123456789abcdef-delete") and is_set_aside("a-0.1-stray")
    assert not is_set_aside("a-delete") and not is_set_aside("a-0")
