"""Logins a second, each with its own connection: by certificate (mTLS 1.3) and by SCRAM-SHA-512.

Each login is followed by one ApiVersions. The clients are processes (`bench.login_client`), each
with one login in flight. They share the machine with the broker, and a handshake is as much work
for a client as for a broker. So compare the broker CPU of a login; the client's CPU is shown beside
it. There is no goal.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench.login_client import MTLS, SCRAM
from bench.peers import ROOT, BenchPeer
from bench.scenario import (
    BROKER_CPU,
    LARGER,
    RATE,
    SMALLER,
    Figure,
    Run,
    Scenario,
    WindowResult,
    steady,
)
from bench.tls import secured_of, warm_up_s

CLIENTS = 4
WINDOWS_COUNTED = 2
"""The number of windows that count of a steady load (`bench.scenario.steady`)."""


@dataclass(frozen=True, slots=True)
class LoginWindow:
    """The logins of one client in a window: `seconds`, its CPU, and the time of each login."""

    seconds: float
    cpu_s: float
    trips: Sequence[float]


class LoginClient:
    """A process of `bench.login_client`, without a connection until `begin`."""

    def __init__(self, words: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.login_client", *words],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def begin(self, seconds: float) -> None:
        """Start to log in for so long; `done` waits for the end."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{seconds}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # `done` raises the reason

    def done(self) -> LoginWindow:
        """Wait for the end and return the logins. Raises RuntimeError if a login failed."""
        assert self._process.stdout is not None and self._process.stderr is not None
        line = self._process.stdout.readline()
        if not line:
            complaint = self._process.stderr.read().strip()
            raise RuntimeError(f"a client ended: {complaint.rpartition(chr(10))[2]}")
        return LoginWindow(**json.loads(line))

    def close(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def login_clients(words: Sequence[str], count: int) -> Iterator[Sequence[LoginClient]]:
    """Start this many clients; they wait for `begin`."""
    clients = [LoginClient(words) for _ in range(count)]
    try:
        yield clients
    finally:
        for client in clients:
            client.close()


def logins(kind: str) -> Run:
    """Return a measurement of logins by `MTLS` or `SCRAM`."""

    def run(peer: BenchPeer, window_s: float) -> list[Figure]:
        secured = secured_of(peer)
        port = secured.mtls_port if kind == MTLS else secured.scram_port
        words = [kind, str(port), str(secured.authority), str(secured.client)]
        with login_clients(words, CLIENTS) as clients:
            return measured_logins(peer, clients, window_s)

    return run


def measured_logins(
    peer: BenchPeer, clients: Sequence[LoginClient], window_s: float
) -> list[Figure]:
    """Measure logins by these clients; a unit of the load is a login."""
    windows: list[list[LoginWindow]] = []

    def load(seconds: float) -> WindowResult:
        """Let all clients log in for some seconds, and join what they measured."""
        for client in clients:
            client.begin(seconds)
        done = [client.done() for client in clients]
        windows.append(done)
        trips = [trip for result in done for trip in result.trips]
        return WindowResult(len(trips), trips, max(result.seconds for result in done))

    load(warm_up_s(peer, window_s))  # at least one login each, so that imports are done
    measured = steady(peer, load, window_s)
    client_cpu = sum(result.cpu_s for window in windows[-WINDOWS_COUNTED:] for result in window)
    return [
        Figure(RATE, "logins/s", measured.rate, LARGER),
        Figure(BROKER_CPU, "ms/login", measured.cpu_per_unit * 1e3, SMALLER),
        *measured.latencies("ms"),
        Figure("client CPU a login", "ms", client_cpu / measured.units * 1e3, SMALLER),
        Figure("client CPU", "% core", 100 * client_cpu / measured.seconds, SMALLER),
    ]


def _scenario(kind: str, title: str) -> Scenario:
    return Scenario(
        f"logins-{kind}",
        "security",
        title,
        f"{CLIENTS} Python processes",
        CLIENTS,
        1,
        logins(kind),
        secured=True,
    )


SCENARIOS = [
    _scenario(SCRAM, "connections that log in by SCRAM-SHA-512 without TLS"),
    _scenario(MTLS, "connections that log in by a P-256 certificate, TLS 1.3"),
]
