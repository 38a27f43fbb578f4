"""`client_metrics_config`. Words are compared with Kafka's in `test_controller_apis`."""

from __future__ import annotations

import pytest

from controller.decisions.client_metrics_config import client_metrics_fault
from protocol.errors import ErrorCode


@pytest.mark.parametrize(
    "configs",
    [
        {},
        {"metrics": ""},
        {"interval.ms": "100", "metrics": "a,b"},
        {"interval.ms": "3600000"},
        {"interval.ms": " +100 "},
        {"match": ""},
        {"match": "client_id=a.*,client_software_name=Apache.*"},
    ],
)
def test_legal(configs: dict[str, str]) -> None:
    assert client_metrics_fault(configs) is None


@pytest.mark.parametrize(
    ("configs", "code"),
    [
        ({"interval.ms": "99"}, ErrorCode.INVALID_REQUEST),
        ({"interval.ms": "3600001"}, ErrorCode.INVALID_REQUEST),
        ({"interval.ms": "1.5"}, ErrorCode.INVALID_CONFIG),
        ({"interval.ms": "2147483648"}, ErrorCode.INVALID_CONFIG),
        ({"metrics": "a,,b"}, ErrorCode.INVALID_CONFIG),
        ({"match": "client_id=a,"}, ErrorCode.INVALID_CONFIG),
        ({"match": "\u00a0client_id=a"}, ErrorCode.INVALID_CONFIG),
        ({"match": "client_id"}, ErrorCode.INVALID_CONFIG),
        ({"match": "colour=red"}, ErrorCode.INVALID_CONFIG),
        ({"match": "client_id=["}, ErrorCode.INVALID_CONFIG),
        ({"match": f"client_id={'(' * 9_000}{')' * 9_000}"}, ErrorCode.INVALID_CONFIG),
        ({"match": f"client_id=a{{{2**70}}}"}, ErrorCode.INVALID_CONFIG),
        ({"colour": "red"}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_illegal(configs: dict[str, str], code: ErrorCode) -> None:
    fault = client_metrics_fault(configs)
    assert fault is not None
    assert fault.code is code


@pytest.mark.timeout(20)
def test_a_pattern_is_read_and_not_compiled() -> None:
    """Python unfolds each of these classes: 9,000 of them would hold the controller for 25 s."""
    assert client_metrics_fault({"match": "client_id=(?i)" + "[a-\U0010ffff]" * 6_000}) is None
