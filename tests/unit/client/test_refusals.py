"""What an answer's error means for a person."""

from __future__ import annotations

import pytest

from client.refusals import why
from protocol.errors import ErrorCode

NEEDS = "Alter on the cluster"


@pytest.mark.parametrize(
    ("code", "message", "said"),
    [
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "no", f"this takes {NEEDS}"),
        (ErrorCode.SECURITY_DISABLED, "No Authorizer", "set authorizer.class.name="),
        (ErrorCode.INVALID_REQUEST, "Invalid empty resource name", "INVALID_REQUEST: Invalid"),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, None, "names are no patterns (ottla topic list"),
        (ErrorCode.INVALID_GROUP_ID, None, "no group can be called so (ottla group list"),
        (ErrorCode.UNKNOWN_SERVER_ERROR, None, "UNKNOWN_SERVER_ERROR"),
        (1234, "odd", "UNKNOWN_SERVER_ERROR: odd"),
    ],
)
def test_it_says_what_to_do(code: int, message: str | None, said: str) -> None:
    text = why(code, message, NEEDS)
    assert said in text and "\n" not in text
