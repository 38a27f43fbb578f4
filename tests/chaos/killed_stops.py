"""`kill -9` amid a clean stop, again and again: `python -m tests.chaos.killed_stops`.

Each round writes a value to every partition, asks the broker to stop, kills it at a random moment
of that stop and starts it again. A stop that ended in time counts apart. Afterwards each partition
holds the values of all rounds, each once and in order.

Prints a line of JSON. An AssertionError says what was lost; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from collections import defaultdict

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition

from bench.starts import create
from ottla.testing.broker_process import BrokerProcess
from storage.log.checkpoints import CLEAN_SHUTDOWN
from tests.tools.waiting import wait_until

TOPIC = "stopped"
START_S = 600
READ_S = 600


def write_round(broker: BrokerProcess, partitions: int, value: bytes) -> None:
    """Write `value` to each partition; return when all are acknowledged."""
    unacknowledged = set(range(partitions))

    def delivered(error: object, message: Message) -> None:
        assert error is None, error
        unacknowledged.discard(message.partition())

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "acks": "all"})
    for partition in range(partitions):
        while True:
            try:
                producer.produce(TOPIC, value, partition=partition, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush(READ_S)
    assert not unacknowledged, f"{len(unacknowledged)} values were not acknowledged"


def read_all(broker: BrokerProcess, partitions: int, count: int) -> dict[int, list[bytes]]:
    """Return the values of each partition, in order, once there are `count` in all."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused"})
    consumer.assign([TopicPartition(TOPIC, index, OFFSET_BEGINNING) for index in range(partitions)])
    values: dict[int, list[bytes]] = defaultdict(list)

    def has_all() -> bool:
        for message in consumer.consume(10_000, 0.2):
            assert message.error() is None, message.error()
            values[message.partition()].append(message.value())
        return sum(map(len, values.values())) >= count

    wait_until(has_all, f"{count} values", limit_s=READ_S)
    consumer.close()
    return values


def stop_and_kill(broker: BrokerProcess, delay_s: float) -> bool:
    """Ask for a clean stop and kill the broker so much later; return whether it was clean by
    then."""
    os.kill(broker.pid, signal.SIGTERM)
    time.sleep(delay_s)
    broker.kill()
    return (broker.data_dir / CLEAN_SHUTDOWN).exists()


def run(partitions: int, kills: int, chance: random.Random) -> dict[str, object]:
    """Return the figures of a run. AssertionError where a promise was broken."""
    rounds = [f"round {number}".encode() for number in range(kills + 1)]
    clean = 0
    with BrokerProcess(start_timeout_s=START_S) as broker:
        create(broker, TOPIC, partitions)
        write_round(broker, partitions, rounds[0])
        began = time.monotonic()
        broker.stop(timeout_s=START_S)
        stop_s = time.monotonic() - began
        broker.restart()
        for value in rounds[1:]:
            write_round(broker, partitions, value)
            clean += stop_and_kill(broker, chance.random() * stop_s)
            broker.restart()
        values = read_all(broker, partitions, partitions * len(rounds))
        wrong = [index for index in range(partitions) if values[index] != rounds]
        assert not wrong, f"{len(wrong)} partitions, such as {wrong[0]}: {values[wrong[0]]}"
        assert broker.stop(timeout_s=START_S) == 0
    return {
        "partitions": partitions,
        "kills": kills,
        "clean before the kill": clean,
        "seconds of the first stop": round(stop_s, 2),
        "values": partitions * len(rounds),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.killed_stops", description=__doc__)
    parser.add_argument("--partitions", type=int, default=2_000)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=None, help="of the moments")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(10**6)
    print(f"seed {seed}", flush=True)
    print(json.dumps(run(options.partitions, options.kills, random.Random(seed))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
