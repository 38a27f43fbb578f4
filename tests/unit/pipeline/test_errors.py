"""What Spark says, told in one line."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.errors import PipelineError, condition_of, names_outage, told


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("x\nSome data may have been lost because …\n\tat a.b", "gone from the topic"),
        ("[PATH_NOT_FOUND] Path does not exist: file:/x", "no such files"),
        ("Failed to find data source: kafka. Please …", "Connect, --packages org"),
        ("x\nModuleNotFoundError: No module named 'confluent_kafka'\n", "set PYSPARK_PYTHON"),
        ("org.apache.kafka.common.errors.SaslAuthenticationException: …", "refuses this login"),
        ("Traceback …\npipeline.errors.PipelineError: it is so\n\tat", "it is so"),
        ("[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. M", "end it, or name"),
        ("An error occurred while calling o1.x.\n: java.lang.X: it broke\n\tat a", "X: it broke ("),
        (
            "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n: "
            "java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.",
            "check --master",
        ),
        ("x\n: java.lang.OutOfMemoryError: Java heap space\n\tat a", "spark.driver.memory=4g"),
        (
            "x\norg.apache.arrow.memory.OutOfMemoryException: Failure allocating",
            "too little memory",
        ),
        ("Answer from Java side is empty", "Java process ended while the job ran"),
        ("[SOMETHING] new\n\tat org.apache", "[SOMETHING] new (--debug"),
        ("", "RuntimeError"),
    ],
)
def test_it_is_one_line_that_helps(said: str, line: str) -> None:
    answer = told(RuntimeError(said))
    assert line in answer
    assert "\n" not in answer


def test_a_sentence_of_ours_stays_as_it_is() -> None:
    assert told(PipelineError("so it is")) == "so it is"


def test_an_error_of_the_system_names_its_file() -> None:
    assert told(PermissionError(13, "Permission denied", "/x/y")) == "/x/y: Permission denied"


def test_a_java_process_that_has_ended_answers_no_more() -> None:
    error = ConnectionRefusedError(111, "Connection refused")
    assert told(error).startswith("Spark's Java process ended while the job ran")


class OfSpark(RuntimeError):
    """An error of PySpark 4: with a condition, or with one that Java no longer tells."""

    def __init__(self, text: str, condition: str | Exception | None) -> None:
        super().__init__(text)
        self._condition = condition

    def getCondition(self) -> str | None:
        if isinstance(self._condition, Exception):
            raise self._condition
        return self._condition


@pytest.mark.parametrize(
    ("condition", "line"),
    [
        ("PATH_NOT_FOUND", "no such files"),
        ("KAFKA_DATA_LOSS.START_OFFSET_RESET", "gone from the topic"),
        ("INVALID_HANDLE.SESSION_CLOSED", "has ended this session"),
    ],
)
def test_a_condition_says_more_than_the_text(condition: str, line: str) -> None:
    assert line in told(OfSpark("a table called UNABLE_TO_INFER_SCHEMA", condition))


@pytest.mark.parametrize("condition", [None, "PATH_NOT_FOUND_AT_ALL", OSError("no Java")])
def test_without_a_known_condition_the_text_counts(condition: Any) -> None:
    assert "a disk is full" in told(OfSpark("No space left on device", condition))
    assert condition_of(ValueError("no error of Spark")) == ""


def test_an_outage_is_named_by_the_client_or_by_a_task() -> None:
    away = RuntimeError("Job aborted\n\tat …\npipeline.errors.Unreachable: t-0 cannot be read\n")
    assert names_outage(away) and told(away) == "t-0 cannot be read"
    assert names_outage(RuntimeError("x org.apache.kafka.common.errors.DisconnectException: y"))
    authorization = "org.apache.kafka.common.errors.TopicAuthorizationException: t"
    assert not names_outage(RuntimeError(authorization))
