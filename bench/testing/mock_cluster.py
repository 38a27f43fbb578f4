"""librdkafka's mock cluster, by ctypes, because Python's binding does not expose its address.

It runs as a thread of the process that uses it. Functions are those of `rdkafka_mock.h`.
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
    """Return librdkafka with the signatures of its mock cluster's functions."""
    librdkafka = library()
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(librdkafka, name)
        function.restype, function.argtypes = result, arguments
    return librdkafka


class MockCluster:
    """A mock cluster of one broker."""

    def __init__(self) -> None:
        self._library = _with_mocks()
        text = ctypes.create_string_buffer(512)
        conf = self._library.rd_kafka_conf_new()
        # A client has to own it; this one connects to no broker, and must not log that.
        self._library.rd_kafka_conf_set(conf, b"log_level", b"0", text, len(text))
        self._owner = self._library.rd_kafka_new(0, conf, text, len(text))
        if not self._owner:
            raise RuntimeError(text.value.decode())
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._owner, 1)
        # The default is 3 s; the other candidates do not wait either.
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 0)

    @property
    def bootstrap_servers(self) -> str:
        """The `host:port` of the broker."""
        address: bytes = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster)
        return address.decode()

    def close(self) -> None:
        """Stop the cluster."""
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._owner)
