"""A producer with a transactional id is told at once, and for good, that there are no transactions.

Of the error codes of InitProducerId and FindCoordinator, TRANSACTIONAL_ID_AUTHORIZATION_FAILED was
found to be fatal in every client. Others (UNSUPPORTED_VERSION, INVALID_REQUEST, INVALID_TXN_STATE)
are asked again by librdkafka until its time is over; PRODUCER_FENCED tells of another producer.
"""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from confluent_kafka import KafkaException, Producer

from protocol.errors import ErrorCode
from tests.java_tools import run_program

REFUSED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
WORDS = "Transactions are not served by this release of Ottla."
AT_ONCE_S = 5

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(autouse=True)
def only_ottla(request: pytest.FixtureRequest) -> None:
    """Apache Kafka has transactions."""
    if request.config.getoption("--broker") != "ottla":
        pytest.skip("Apache Kafka serves transactions")


@pytest.mark.parametrize("client", ["confluent-kafka"])
def test_transactional_refusal_confluent(broker: str, client: str) -> None:
    start = time.monotonic()
    producer = Producer({"bootstrap.servers": broker, "transactional.id": client, "log_level": 0})
    with pytest.raises(KafkaException) as refused:
        producer.init_transactions(60)
    error = refused.value.args[0]
    assert error.code() == REFUSED
    assert error.fatal()
    assert not error.retriable()
    assert WORDS in error.str()
    with pytest.raises(KafkaException):
        producer.begin_transaction()
    assert time.monotonic() - start < AT_ONCE_S


@pytest.mark.parametrize("client", ["kafka-python"])
def test_transactional_refusal_kafka_python(broker: str, client: str) -> None:
    from kafka import KafkaProducer
    from kafka.errors import KafkaError, TransactionalIdAuthorizationFailedError

    start = time.monotonic()
    producer = KafkaProducer(bootstrap_servers=broker, transactional_id=client)
    with pytest.raises(TransactionalIdAuthorizationFailedError) as refused:
        producer.init_transactions()
    assert refused.value.errno == REFUSED
    assert not refused.value.retriable
    with pytest.raises(KafkaError, match="error state"):
        producer.begin_transaction()
    producer.close(timeout=AT_ONCE_S)
    assert time.monotonic() - start < AT_ONCE_S


@pytest.mark.parametrize("client", ["aiokafka"])
def test_transactional_refusal_aiokafka(broker: str, client: str) -> None:
    from aiokafka import AIOKafkaProducer
    from aiokafka.errors import TransactionalIdAuthorizationFailed

    async def start() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=broker, transactional_id=client)
        try:
            await asyncio.wait_for(producer.start(), AT_ONCE_S)
        finally:
            await producer.stop()

    with pytest.raises(TransactionalIdAuthorizationFailed) as refused:
        asyncio.run(start())
    assert refused.value.errno == REFUSED
    assert not refused.value.retriable


@pytest.mark.java
def test_transactional_refusal_java(broker: str) -> None:
    done = run_program("TransactionalRefusal", broker)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["init"] == "TransactionalIdAuthorizationException"
    assert told["init_retriable"] is False
    assert told["init_ms"] < AT_ONCE_S * 1000
    assert told["begin"] == "KafkaException"
    assert "error state" in told["begin_message"]
