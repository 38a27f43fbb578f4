"""A client that does nothing wrong while others do: it logs in again and again, undisturbed.

    python -m tests.chaos.secured.bystander FOLDER PORTS

with a PEM of its key and certificate and one of the authority in the folder, and listeners with
their ports as JSON.

A process of its own, so that attackers do not take its time. It waits for `begin` on its input.
Then it logs in to one secured listener after the other, has one round trip and hangs up, and
produces over one connection that stays open. At `end` it prints what it has seen as JSON, and waits
again. An error ends it.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from broker.network.readiness import readable
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests import certificates
from tests.batches import build_batch
from tests.chaos.secured.secured_broker import PASSWORD, USER
from tests.clients.wire_client import WireClient

KEY, AUTHORITY = "bystander.pem", "authority.pem"
TOPIC = "bystander"
PAUSE_S = 0.005
WAYS = (("REQUIRED", None), ("SASL", "PLAIN"), ("BOTH", "PLAIN"), ("BOTH", "SCRAM-SHA-256"))


@dataclass(frozen=True)
class BystanderCounts:
    """What one spell of it came to."""

    logins: int
    login_p95_ms: float
    """Connection, handshake, login and a round trip."""
    login_longest_ms: float
    produce_p95_ms: float
    produce_longest_ms: float


class Bystander:
    """The process, from the side of a test."""

    def __init__(self, folder: Path, ports: dict[str, int]) -> None:
        shown = certificates.client("CN=bystander")
        (folder / KEY).write_text(shown.key_pem() + shown.chain_pem)
        (folder / AUTHORITY).write_text(certificates.authority().certificate_pem)
        words = [sys.executable, "-m", __name__, str(folder), json.dumps(ports)]
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self) -> None:
        self._say("begin")

    def end(self) -> BystanderCounts:
        """What it has seen since `begin`. AssertionError if it has come to harm."""
        self._say("end")
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the bystander came to harm: exit code {self._process.wait(60)}"
        return BystanderCounts(**json.loads(line))

    def _say(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def __enter__(self) -> Bystander:
        try:
            self.begin()
            self.end()  # once round, so that nothing is slow for being new
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()


# --- the process itself ---------------------------------------------------------------------------


class _Client:
    def __init__(self, folder: Path, ports: dict[str, int]) -> None:
        self._ports = ports
        self._tls = ssl.create_default_context(cafile=str(folder / AUTHORITY))
        self._tls.load_cert_chain(folder / KEY)
        self._lasting = WireClient(ports["PLAINTEXT"])
        self._produced = 0
        metadata = MetadataRequest([MetadataRequestTopic(name=TOPIC)])
        while self._lasting.call(metadata, 9).topics[0].error_code:
            time.sleep(PAUSE_S)  # it creates the topic

    def logs_in(self, listener: str, mechanism: str | None) -> float:
        """Seconds until it was answered."""
        began = time.perf_counter()
        tls = None if listener == "SASL" else self._tls
        with WireClient(self._ports[listener], tls=tls) as client:
            if mechanism is not None:
                client.log_in(mechanism, USER, PASSWORD)
            assert client.call(MetadataRequest(None), 9).brokers
        return time.perf_counter() - began

    def produces(self) -> float:
        """Seconds until it was acknowledged. Nobody else has produced."""
        began = time.perf_counter()
        batch = build_batch([Record(-1, 1_700_000_000_000, b"bystander", b"here")])
        data = [PartitionProduceData(0, bytearray(batch))]
        request = ProduceRequest(None, -1, 10_000, [TopicProduceData(TOPIC, partition_data=data)])
        (answer,) = self._lasting.call(request, 9).responses[0].partition_responses
        assert (answer.error_code, answer.base_offset) == (0, self._produced), answer
        self._produced += 1
        return time.perf_counter() - began


def _p95_and_longest_ms(times_s: list[float]) -> tuple[float, float]:
    times_ms = sorted(round(one * 1000, 1) for one in times_s)
    return times_ms[int(len(times_ms) * 0.95)], times_ms[-1]


def _spell(
    client: _Client, ways: Iterator[tuple[str, str | None]], orders: BinaryIO
) -> BystanderCounts:
    """Until `end` is said."""
    logins, produced = [], []
    while True:
        logins.append(client.logs_in(*next(ways)))
        produced.append(client.produces())
        if readable([orders], PAUSE_S):
            assert orders.readline() == b"end\n"
            return BystanderCounts(
                len(logins), *_p95_and_longest_ms(logins), *_p95_and_longest_ms(produced)
            )


def main() -> None:
    client, ways = _Client(Path(sys.argv[1]), json.loads(sys.argv[2])), cycle(WAYS)
    with open(0, "rb", buffering=0) as orders:  # a buffer would hide a line from `readable`
        while orders.readline():
            print(json.dumps(asdict(_spell(client, ways, orders))), flush=True)


if __name__ == "__main__":
    main()
