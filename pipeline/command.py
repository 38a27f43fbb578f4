"""The command `ottla-pipeline JOB`: arguments to a job, what goes wrong to one line.

Owns the parser and the exit codes: 0 done, 1 an audit found something, 2 the job could not run; an
error may have another one, such as 3 for more dead letters than `table` may write.
Spark is imported, and its JVM started, only by jobs that need it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from ottla.launcher import install_command
from pipeline.errors import PipelineError, told

EXIT_REFUSED = 2

_JOBS = {
    "generate": "Send synthetic call detail records to a topic.",
    "stream": "Sum the records of a topic for each cell and each subscriber.",
    "table": "Write a topic to a table of Delta, Iceberg or Parquet, each offset once.",
    "load": "Write what is new in a topic to a table of Parquet, by date and hour.",
    "replay": "Send files of Parquet, JSON or CSV, or a loaded table, to a topic.",
    "audit": "Check whether a topic, a table or the stream's results are complete.",
}
_EXAMPLES = {
    "generate": "ottla-pipeline generate --events 100000 --rate 2000",
    "stream": "ottla-pipeline stream --topic cdr --until-idle 10",
    "table": "ottla-pipeline table --topic orders --to delta --value-format json",
    "load": "ottla-pipeline load -b localhost:9092 --topic cdr",
    "replay": "ottla-pipeline replay --topic cdr-again --files pipeline-data/events",
    "audit": "ottla-pipeline audit --topic cdr --table pipeline-data/events",
}
_WITHOUT_SPARK = ("generate",)
# Whose errors are told in one line; any other is a bug, and shown whole.
_TOLD = ("pyspark", "py4j", "grpc", "pyarrow")
_LAYOUT = "a table is laid out by the records' timestamps, and load makes a folder for each hour"
_NOT_HERE = {
    "--partition-by": _LAYOUT,
    "--partitions-by": _LAYOUT,
    "--partition-columns": _LAYOUT,
    "--cluster-by": _LAYOUT,
    "--z-order-by": _LAYOUT,
}
"""Options that other tools have, with the sentence that says what this one does instead."""
_CLOSE = 0.75
PACKAGES = ("confluent-kafka", "numpy", "pyarrow", "pyspark==4.0.0")
"""The extra `pipeline`. A job that lacks one of them lacks most."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one job; the exit code. Prints one line for what stops it."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(given)
    except PipelineError as error:
        return _refused(str(error), error.exit_code)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("pyspark", "confluent_kafka", "py4j"):
            raise
        return _refused(f"{package} is not installed: {install_command(*PACKAGES)}")
    except KeyboardInterrupt:
        return _refused("interrupted")
    except Exception as error:  # Spark's errors, told in one line
        theirs = isinstance(error, OSError) or type(error).__module__.startswith(_TOLD)
        if "--debug" in given or not theirs:
            raise
        return _refused(told(error))


class _JobParser(argparse.ArgumentParser):
    """Says what it does not know with the usage of its job, and what it may have been."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            word = rest[0].partition("=")[0]
            close = get_close_matches(word, self._option_string_actions, 1, _CLOSE)
            hint = f" (is it {close[0]}?)" if close else ""
            if word in _NOT_HERE:
                hint = f": {_NOT_HERE[word]}"
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return found, rest


def parser_for(job: str | None) -> argparse.ArgumentParser:
    """The parser; with the options of `job` alone, whose module it imports."""
    parser = argparse.ArgumentParser(
        prog="ottla-pipeline", description="Spark jobs on the topics of Ottla or Apache Kafka."
    )
    jobs = parser.add_subparsers(dest="job", metavar="JOB", required=True, parser_class=_JobParser)
    for name, about in _JOBS.items():
        one = jobs.add_parser(
            name,
            help=about,
            description=f"{about}\n\n  {_EXAMPLES[name]}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == job:
            _module(name).add_arguments(one)
            if name not in _WITHOUT_SPARK:
                import_module("pipeline.spark.session").add_arguments(one)
            one.add_argument(
                "--debug",
                action="store_true",
                help="Show errors of Spark in full, with their tracebacks.",
            )
    return parser


def _run(given: list[str]) -> int:
    job = next((word for word in given if word in _JOBS), None)
    options = parser_for(job).parse_args(given)
    module = _module(options.job)
    run: Callable[..., int] = module.run
    if options.job in _WITHOUT_SPARK:
        return run(options)
    # Half a minute of Spark's patience, and its JVM, for what is known in a moment.
    sessions = import_module("pipeline.spark.session")
    sessions.check(options)
    module.check(options)
    needs = module.needs(options) if hasattr(module, "needs") else sessions.NOTHING_MORE
    spark = sessions.make_session(options.job, options, needs)
    try:
        return run(spark, options)
    finally:
        with suppress(Exception):  # it may have gone first, which is told already
            spark.stop()


def _module(job: str) -> Any:
    return import_module(f"pipeline.jobs.{job}")


def _refused(sentence: str, exit_code: int = EXIT_REFUSED) -> int:
    print(f"ottla-pipeline: {sentence}", file=sys.stderr, flush=True)
    return exit_code
