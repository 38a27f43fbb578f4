"""A few rows of the matrix of commands, beside Kafka's own tools; all of them by
`python -m tests.compat.command_matrix`.

With `--broker=apache-kafka` the same against Apache Kafka.
"""

from __future__ import annotations

import pytest

from tests.compat.command_matrix.matrix import Matrix
from tests.compat.ottla_command import Ottla
from tests.tools.kafka_tools import KafkaTools

pytestmark = pytest.mark.java


@pytest.fixture
def matrix(broker: str, tools: KafkaTools) -> Matrix:
    return Matrix(Ottla(broker), tools, forms=(True,))


def test_topics_and_groups(matrix: Matrix) -> None:
    matrix.topics()
    matrix.groups("consumer")
    assert matrix.faults == [] and matrix.rows > 20


def test_errors(matrix: Matrix) -> None:
    matrix.ottla("topic", "create", matrix.topic)
    matrix.errors(every=9)
    assert matrix.faults == []


def test_a_command_that_is_not_refused_is_a_fault(matrix: Matrix) -> None:
    matrix.one_line(["topic", "list"], 1)
    matrix.check("two", 1, 2)
    assert len(matrix.faults) == 2
