"""Configs of a client metrics subscription (KIP-714): names and limits.

Ottla does not ask clients for telemetry; the resource can still be written and listed, as the
admin tools do. Follows Kafka's `ClientMetricsConfigs`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from protocol.errors import ApiError, ErrorCode

INTERVAL_MS_MIN = 100
INTERVAL_MS_MAX = 3_600_000

_SELECTORS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def client_metrics_fault(configs: Mapping[str, str]) -> ApiError | None:
    """Why a client metrics resource may not have `configs`; None if it may."""
    for name, value in configs.items():
        if name == "interval.ms":
            fault = _interval_fault(value)
        elif name == "match":
            fault = _match_fault(value)
        elif name == "metrics":
            fault = None
        else:
            fault = ApiError(
                ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {name}"
            )
        if fault is not None:
            return fault
    return None


def _interval_fault(value: str) -> ApiError | None:
    if not re.fullmatch(r"[+-]?[0-9]+", value.strip()):
        text = f"Invalid value {value} for configuration interval.ms: Not a number of type INT"
        return ApiError(ErrorCode.INVALID_CONFIG, text)
    if not INTERVAL_MS_MIN <= int(value) <= INTERVAL_MS_MAX:
        text = (
            f"Invalid value {value} for interval.ms, interval must be between "
            f"{INTERVAL_MS_MIN} and {INTERVAL_MS_MAX} (1 hour)"
        )
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    return None


def _match_fault(value: str) -> ApiError | None:
    for pattern in filter(None, (part.strip() for part in value.split(","))):
        name, found, expression = pattern.partition("=")
        if not found or name.strip() not in _SELECTORS:
            text = f"Illegal client matching pattern: {pattern}"
            return ApiError(ErrorCode.INVALID_CONFIG, text)
        try:
            re.compile(expression)  # never matched here
        except (re.error, OverflowError, RecursionError):
            text = f"Illegal client matching pattern: {pattern}"
            return ApiError(ErrorCode.INVALID_CONFIG, text)
    return None
