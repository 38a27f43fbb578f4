"""Configs of a client metrics subscription (KIP-714): names and limits.

Ottla does not collect telemetry from clients; the admin tools can still write and list the
resource. Follows Kafka's `ClientMetricsConfigs`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from re import _parser  # type: ignore[attr-defined]

from ground.config_def import ConfigType, parse_type
from ground.java_literals import integer, trim
from protocol.errors import ApiError, ErrorCode

INTERVAL_MS_MIN = 100
INTERVAL_MS_MAX = 3_600_000

CLIENT_METRICS_KEYS = ("interval.ms", "match", "metrics")
_SELECTORS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def client_metrics_fault(configs: Mapping[str, str]) -> ApiError | None:
    """Return the error of the first of `configs` that a client metrics resource may not have; None
    if all are valid."""
    for name, value in configs.items():
        if name == "interval.ms":
            fault = _interval_fault(value)
        elif name in CLIENT_METRICS_KEYS:
            fault = _list_fault(name, value)
        else:
            fault = ApiError(
                ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {name}"
            )
        if fault is not None:
            return fault
    return None


def _interval_fault(value: str) -> ApiError | None:
    """Return the error of an `interval.ms` that is no integer or is out of range; None if it is
    valid."""
    interval_ms = integer(trim(value), 32)
    if interval_ms is None:
        text = f"Invalid value {value} for configuration interval.ms: Not a number of type INT"
        return ApiError(ErrorCode.INVALID_CONFIG, text)
    if not INTERVAL_MS_MIN <= interval_ms <= INTERVAL_MS_MAX:
        text = (
            f"Invalid value {interval_ms} for interval.ms, interval must be between "
            f"{INTERVAL_MS_MIN} and {INTERVAL_MS_MAX} (1 hour)"
        )
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    return None


def _list_fault(name: str, value: str) -> ApiError | None:
    """Return the error of a list, and of the patterns if it is `match`; None if it is valid."""
    elements = parse_type(name, ConfigType.LIST, value)
    assert isinstance(elements, tuple)
    if "" in elements:
        text = f"Configuration '{name}' values must not be empty."
        return ApiError(ErrorCode.INVALID_CONFIG, text)
    return _match_fault(elements) if name == "match" else None


def _match_fault(patterns: Sequence[str]) -> ApiError | None:
    """Return the error of the first pattern that is not SELECTOR=REGEX with a known selector; None
    if all are valid."""
    for pattern in patterns:
        selector, equals_sign, expression = pattern.partition("=")
        if not equals_sign or trim(selector) not in _SELECTORS:
            text = f"Illegal client matching pattern: {pattern}"
            return ApiError(ErrorCode.INVALID_CONFIG, text)
        try:
            # Only parsed: to compile a pattern takes up to 8 ms for each of its character classes.
            _parser.parse(expression)
        except (re.error, OverflowError, RecursionError):
            text = f"Illegal client matching pattern: {pattern}"
            return ApiError(ErrorCode.INVALID_CONFIG, text)
    return None
