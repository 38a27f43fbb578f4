"""`python -m bench.first_group`: the extra time of a new broker's first group over its second.

The first group creates `__consumer_offsets`, the first transaction `__transaction_state`. Each turn
has a new broker, or with `--nodes 3` a new cluster, and one topic with one record. A
group is a new consumer: from `subscribe` to the record. A transaction is a new producer: from
`init_transactions` to the end of the commit. The first turn of a client is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
import uuid
from collections.abc import Callable

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer

from tests.tools.cluster_processes import KAFKA, OTTLA, ClusterProcesses

TOPIC = "first-group"
PATIENCE_S = 30
ALLOWED_MS = 50


def kafka_python(servers: str) -> None:
    """Consume the record in a new group by kafka-python."""
    consumer = KafkaConsumer(
        TOPIC, bootstrap_servers=servers, group_id=fresh(), auto_offset_reset="earliest"
    )
    next(consumer)
    consumer.close()


def confluent(servers: str) -> None:
    """Consume the record in a new group by confluent-kafka."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": fresh(), "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([TOPIC])
    assert consumer.poll(PATIENCE_S) is not None
    consumer.close()


def aiokafka(servers: str) -> None:
    """Consume the record in a new group by aiokafka."""

    async def consume() -> None:
        consumer = AIOKafkaConsumer(
            TOPIC, bootstrap_servers=servers, group_id=fresh(), auto_offset_reset="earliest"
        )
        await consumer.start()
        await consumer.getone()
        await consumer.stop()

    asyncio.run(consume())


def kafka_python_transaction(servers: str) -> None:
    """Commit a transaction of one record by kafka-python."""
    producer = KafkaProducer(bootstrap_servers=servers, transactional_id=fresh())
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(TOPIC, b"value")
    producer.commit_transaction()
    producer.close()


def confluent_transaction(servers: str) -> None:
    """Commit a transaction of one record by confluent-kafka."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": fresh()})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(TOPIC, b"value")
    producer.commit_transaction(PATIENCE_S)


def aiokafka_transaction(servers: str) -> None:
    """Commit a transaction of one record by aiokafka."""

    async def produce() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=servers, transactional_id=fresh())
        await producer.start()
        async with producer.transaction():
            await producer.send_and_wait(TOPIC, b"value")
        await producer.stop()

    asyncio.run(produce())


CLIENTS: dict[str, Callable[[str], None]] = {
    "kafka-python": kafka_python,
    "confluent-kafka": confluent,
    "aiokafka": aiokafka,
    "kafka-python, transaction": kafka_python_transaction,
    "confluent-kafka, transaction": confluent_transaction,
    "aiokafka, transaction": aiokafka_transaction,
}


def fresh() -> str:
    """Return a new id."""
    return str(uuid.uuid4())


def turn(peer: str, nodes: int, client: Callable[[str], None]) -> tuple[float, float]:
    """Return the milliseconds of the first and second call of `client` on a new broker."""
    properties = {
        "offsets.topic.replication.factor": str(nodes),
        "transaction.state.log.replication.factor": str(nodes),
        "transaction.state.log.min.isr": str(min(nodes, 2)),
        "group.initial.rebalance.delay.ms": "0",
    }
    with ClusterProcesses(nodes, peer=peer, properties=properties) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap})
        producer.produce(TOPIC, b"value")
        producer.flush(PATIENCE_S)
        del producer  # a live producer would log that the brokers are gone
        return timed(client, cluster.bootstrap), timed(client, cluster.bootstrap)


def timed(client: Callable[[str], None], servers: str) -> float:
    """Return the milliseconds of one group or transaction."""
    began = time.perf_counter()
    client(servers)
    return (time.perf_counter() - began) * 1000


def main() -> int:
    """Print the times; return 1 if the median of a client exceeds `ALLOWED_MS`."""
    parser = argparse.ArgumentParser(prog="python -m bench.first_group", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--peer", choices=(OTTLA, KAFKA), default=OTTLA)
    parser.add_argument("--client", choices=tuple(CLIENTS), action="append")
    options = parser.parse_args()
    worst = 0.0
    for name in options.client or CLIENTS:
        turns = [turn(options.peer, options.nodes, CLIENTS[name]) for _ in range(options.turns + 1)]
        difference = statistics.median(first - second for first, second in turns[1:])
        worst = max(worst, difference)
        rounded = [[round(value) for value in pair] for pair in turns[1:]]
        print(
            json.dumps(
                {"client": name, "first minus second, ms": round(difference), "turns": rounded}
            ),
            flush=True,
        )
    return int(worst > ALLOWED_MS)


if __name__ == "__main__":
    raise SystemExit(main())
