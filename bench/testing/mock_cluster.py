"""librdkafka's mock cluster, by ctypes: Python's binding has no way to its address.

It is a thread of the process that uses it. Functions are those of `rdkafka_mock.h`.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from bench.librdkafka import library

_Handle = ctypes.c_void_p

_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "rd_kafka_mock_cluster_new": (_Handle, [_Handle, ctypes.c_int]),
    "rd_kafka_mock_cluster_bootstraps": (ctypes.c_char_p, [_Handle]),
    "rd_kafka_mock_group_initial_rebalance_delay_ms": (None, [_Handle, ctypes.c_int32]),
    "rd_kafka_mock_cluster_destroy": (None, [_Handle]),
}


@cache
def _with_mocks() -> ctypes.CDLL:
    found = library()
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found


class MockCluster:
    """One broker."""

    def __init__(self) -> None:
        self._library = _with_mocks()
        text = ctypes.create_string_buffer(512)
        conf = self._library.rd_kafka_conf_new()
        # A client has to own it; this one connects to nobody, and need not say so.
        self._library.rd_kafka_conf_set(conf, b"log_level", b"0", text, len(text))
        self._owner = self._library.rd_kafka_new(0, conf, text, len(text))
        if not self._owner:
            raise RuntimeError(text.value.decode())
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._owner, 1)
        # 3 s unless it is set, which others do not wait either.
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 0)

    @property
    def bootstrap_servers(self) -> str:
        """`host:port`."""
        found: bytes = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster)
        return found.decode()

    def close(self) -> None:
        """End it."""
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._owner)
