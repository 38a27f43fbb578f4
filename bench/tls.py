"""Produce and fetch through TLS 1.3 on one node, beside the same loads without it.

The loads are those of `batched-1k-acks-1` and `fetch-warm`; only the listener differs. The client
encrypts and decrypts as much as the broker, on the same machine: `client CPU` shows its load.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

from bench.batches import CLIENT as LIBRDKAFKA
from bench.fetching import WARM_BATCHES, check_fetched, fetch_figures, fill
from bench.peers import BenchPeer
from bench.scenario import RATE, Figure, Load, Scenario, WindowResult, steady
from bench.scenarios import batch_figures, measured_batches, values_of
from bench.secured import Secured
from bench.wire import Wire

VALUE_BYTES = 1024
JVM_WARM_UP_WINDOWS = 3
GOAL = 0.8
CLIENT = "Python's ssl"


def secured_of(peer: BenchPeer) -> Secured:
    """Return the peer's secured listeners. Raises RuntimeError if it was started without them."""
    if peer.secured is None:
        raise RuntimeError(f"{peer.name} was started without secured listeners")
    return peer.secured


def warm_up_s(peer: BenchPeer, window_s: float) -> float:
    """Return how long to warm up a JVM, because the harness's warm-up does not use TLS."""
    return JVM_WARM_UP_WINDOWS * window_s if peer.is_jvm else 0.0


def tls_batched(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure librdkafka's batches of up to 1 MB through TLS, acks=1."""
    secured = secured_of(peer)
    settings = {
        "acks": "1",
        "bootstrap.servers": f"127.0.0.1:{secured.tls_port}",
        "security.protocol": "ssl",
        "ssl.ca.location": str(secured.authority),
    }
    values = values_of(VALUE_BYTES)
    warm_up = warm_up_s(peer, window_s)
    return batch_figures(
        measured_batches(peer, values, settings, 1, window_s, warm_up), VALUE_BYTES
    )


def tls_fetch(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure fetches of 1 MiB from the page cache, again and again, one in flight."""
    secured = secured_of(peer)
    frames = fill(peer, WARM_BATCHES)
    wire = Wire(secured.tls_port, secured.context())
    try:
        load = fetches(wire, frames)
        load(warm_up_s(peer, window_s))
        return fetch_figures(steady(peer, load, window_s))
    finally:
        wire.close()


def fetches(wire: Wire, frames: Sequence[bytes]) -> Load:
    """Return a load of these frames in turn, one in flight. A unit is a byte."""
    turns = itertools.cycle(frames)

    def load(seconds: float) -> WindowResult:
        """Fetch in turn. Raises RuntimeError if an answer was too small."""
        clock = time.perf_counter
        received, trips = 0, list[float]()
        began = sent = clock()
        while sent < began + seconds:
            wire.socket.sendall(next(turns))
            received += wire.skip_response()
            now = clock()
            trips.append(now - sent)
            sent = now
        check_fetched(received, len(trips))
        return WindowResult(received, trips, sent - began)

    return load


SCENARIOS = [
    Scenario(
        "tls-batched-1k",
        "security",
        "batched produce through TLS 1.3, 1,024 B, acks=1",
        LIBRDKAFKA,
        1,
        1,
        tls_batched,
        goals={RATE: GOAL},
        secured=True,
    ),
    Scenario(
        "tls-fetch",
        "security",
        "fetch of 1 MiB from the page cache through TLS 1.3",
        CLIENT,
        1,
        1,
        tls_fetch,
        goals={RATE: GOAL},
        secured=True,
    ),
]
