"""What operations say of errors."""

from __future__ import annotations

import pytest

from testbed.operation_error import OperationError
from testbed.operations.port import check


def test_an_error_is_told_by_its_name_and_words() -> None:
    check(0, "nothing")
    with pytest.raises(
        OperationError, match="^t was not made: INVALID_CONFIG \\(because\\)$"
    ) as told:
        check(40, "t was not made", "because")
    assert told.value.kind == "failed"
    with pytest.raises(OperationError, match="^t: UNKNOWN_SERVER_ERROR$"):
        check(9999, "t")
