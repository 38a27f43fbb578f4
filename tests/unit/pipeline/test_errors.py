"""What Spark says, told in one line."""

from __future__ import annotations

import pytest

from pipeline.errors import PipelineError, told


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
