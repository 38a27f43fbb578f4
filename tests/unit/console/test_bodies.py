"""Bodies that no endpoint could read are rejected in one line."""

from __future__ import annotations

import pytest

from console.bodies import NESTING_MAX, body_of
from console.endpoints import BadAsk


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def test_a_body() -> None:
    assert body_of(b'{"a": [1, 1.5, null]}') == {"a": [1, 1.5, None]}
    assert body_of(nested(NESTING_MAX)) is not None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b'{"partition": 1e400}', "1e400 in the request is not a finite number"),
        (b"[NaN]", "NaN in the request"),
        (b"[-Infinity]", "-Infinity in the request"),
        (nested(NESTING_MAX + 1), "nested deeper than 200 levels"),
        (nested(200_000), "nested deeper than 200 levels"),
        (b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "nested deeper than 200 levels"),
    ],
)
def test_a_body_that_is_rejected(data: bytes, reason: str) -> None:
    with pytest.raises(BadAsk, match=reason):
        body_of(data)
