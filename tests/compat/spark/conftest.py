"""The session of Spark that all files here share, and the broker as it sees it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.compat.spark_session import Kafka


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """The session with the stock connector; settings and views of a module are its own.

    It is left running for the next module of this process.
    """
    # Imported here: where PySpark is missing, the tests marked spark are skipped.
    from tests.compat.spark_session import remove_empty_folders, shared_session

    yield shared_session()
    remove_empty_folders()
    gc.collect()  # sockets that PySpark left open: here, where the module expects the warning


@pytest.fixture(scope="module")
def kafka(broker: str, spark: SparkSession) -> Kafka:
    """The run's broker as Spark sees it."""
    from tests.compat.spark_session import Kafka

    return Kafka(spark, broker)


@pytest.fixture(autouse=True)
def queries_end_here(request: pytest.FixtureRequest) -> Iterator[None]:
    """Stop the streams that a test that failed left running: others would wait for them."""
    yield
    if "spark" in request.fixturenames:
        for query in request.getfixturevalue("spark").streams.active:
            query.stop()
