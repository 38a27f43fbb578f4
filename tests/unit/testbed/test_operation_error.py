"""Every kind is one that the tests' process knows."""

from __future__ import annotations

import pytest

from ottla.testing.errors import OttlaError, error_of
from testbed.operation_error import OperationError


@pytest.mark.parametrize("kind", ["deadline", "misuse", "not possible"])
def test_a_kind_is_an_error_there(kind: str) -> None:
    error = OperationError(kind, "why")
    there = error_of(error.kind, str(error))
    assert type(there) is not OttlaError and (there.kind, str(there)) == (kind, "why")
