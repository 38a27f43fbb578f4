"""What clients can take of a broker's memory and time: a command, for its numbers.

    python -m tests.chaos.hostile_memory            # all four, on a broker each
    python -m tests.chaos.hostile_memory --codecs gzip,zstd

dead         300 connections, ten at a time, send 20 MB of a frame of 90 MB and go away
unfinished   24 connections send 89 MB of a frame of 90 MB, with a bound of 300 MB
bombs        eight clients send a batch that unpacks to 95 MB to a compacted topic, at once
look-ups     eight clients ask for an offset by time inside such a batch, at once

For the last two an innocent client asks all the while, and its longest round trip is told: on a
machine that has nothing else to do. (Snappy packs 22 times at most: its batch unpacks to 21 MB.)
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

from ottla.testing.broker_process import BrokerProcess
from protocol.compression import Codec
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.clients.wire_client import WireClient

MB = 1_000_000
NOW_MS = 1_700_000_000_000
CLIENTS = 8


def resident_mb(pid: int, which: str = "VmRSS") -> int:
    """Of a process, now, or VmHWM: at most."""
    with open(f"/proc/{pid}/status") as status:
        (line,) = [line for line in status if line.startswith(which)]
    return int(line.split()[1]) // 1024


def begin_frame(broker: BrokerProcess, sent_bytes: int) -> socket.socket:
    """A connection that has sent so much of a frame of 90 MB, as far as it is taken in 5 s."""
    connection = socket.create_connection(("127.0.0.1", broker.port), timeout=5)
    with contextlib.suppress(TimeoutError):
        connection.sendall(struct.pack(">i", 90 * MB) + bytes(sent_bytes))
    return connection


def dead() -> None:
    """Nothing of them may be left."""
    with BrokerProcess() as broker:
        before, most = resident_mb(broker.pid), 0
        for _ in range(30):
            connections = [begin_frame(broker, 20 * MB) for _ in range(10)]
            most = max(most, resident_mb(broker.pid))
            for connection in connections:
                connection.close()
        time.sleep(1)
        print(f"dead: {before} MB before, {most} at most, {resident_mb(broker.pid)} after")


def unfinished() -> None:
    """They may not have more than the bound."""
    with BrokerProcess({"queued.max.request.bytes": str(300 * MB)}) as broker:
        before = resident_mb(broker.pid)
        threads = [threading.Thread(target=begin_frame, args=(broker, 89 * MB)) for _ in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(f"unfinished: {before} MB before, {resident_mb(broker.pid, 'VmHWM')} at most")


def produce(topic: str, batch: memoryview) -> ProduceRequest:
    """One batch to partition 0, acks=1."""
    data = [PartitionProduceData(0, batch)]
    return ProduceRequest(None, 1, 60_000, [TopicProduceData(topic, partition_data=data)])


def with_an_innocent_one(codec: Codec, name: str, ask: Callable[[memoryview], Any]) -> None:
    """Eight clients ask at once what `ask` gives for a batch that unpacks to much."""
    size = 21 * MB if codec is Codec.SNAPPY else 95 * MB
    bomb = memoryview(build_batch([Record(-1, NOW_MS, b"k", bytes(size))], compression=codec))
    small = memoryview(build_batch([Record(-1, NOW_MS, b"k", b"v" * 100)]))
    with BrokerProcess() as broker, WireClient(broker.port) as innocent:
        compact = [CreatableTopicConfig("cleanup.policy", "compact")]
        topics = [CreatableTopic("plain", 1, 1), CreatableTopic("compacted", 1, 1, [], compact)]
        innocent.call(CreateTopicsRequest(topics, 10_000), 5)
        innocent.call(produce("plain", bomb), 7)
        before = resident_mb(broker.pid)
        request = ask(bomb)
        children = []
        for _ in range(CLIENTS):
            child = os.fork()  # a thread would share the innocent one's interpreter lock
            if not child:
                with WireClient(broker.port, timeout_s=300) as client:
                    client.call(request, 7 if isinstance(request, ProduceRequest) else 5)
                os._exit(0)
            children.append(child)
        trips = []
        while children:
            began = time.perf_counter()
            innocent.call(produce("plain", small), 7)
            trips.append((time.perf_counter() - began) * 1000)
            time.sleep(0.001)
            children = [one for one in children if not os.waitpid(one, os.WNOHANG)[0]]
        most, after = resident_mb(broker.pid, "VmHWM"), resident_mb(broker.pid)
        print(
            f"{name}, {codec.name.lower()}: longest round trip {max(trips):.1f} ms of "
            f"{len(trips)}; {before} MB before, {most} at most, {after} after"
        )


def look_up(_bomb: memoryview) -> ListOffsetsRequest:
    """By a time inside the batch that lies in "plain"."""
    asked = [ListOffsetsPartition(0, -1, NOW_MS - 1)]
    return ListOffsetsRequest(-1, 0, [ListOffsetsTopic("plain", asked)])


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--codecs", default="gzip,snappy,lz4,zstd")
    codecs = [Codec[name.upper()] for name in parser.parse_args().codecs.split(",")]
    dead()
    unfinished()
    for codec in codecs:
        with_an_innocent_one(codec, "bombs", lambda bomb: produce("compacted", bomb))
        with_an_innocent_one(codec, "look-ups", look_up)


if __name__ == "__main__":
    main()
