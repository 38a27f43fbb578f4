"""The command `ottla-pipeline JOB`: runs a job, and prints an error as one line.

Owns the parser and the exit codes: 0 for success, 1 if a check of `audit` or a line of `replay` is
bad, 2 if the job could not run. An error may have another code, such as 3 for more dead letters
than `table` may write. Spark is imported, and its JVM started, only by jobs that need Spark.
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
# The packages whose errors are printed as one line; any other error is a bug with a traceback.
_ONE_LINE = ("pyspark", "py4j", "grpc", "pyarrow")
_LAYOUT = "a table is laid out by the records' timestamps, and load makes a folder for each hour"
_NOT_HERE = {
    "--partition-by": _LAYOUT,
    "--partitions-by": _LAYOUT,
    "--partition-columns": _LAYOUT,
    "--cluster-by": _LAYOUT,
    "--z-order-by": _LAYOUT,
}
"""The options of other tools, each with the sentence about what this command does instead."""
_CLOSE = 0.75
PACKAGES = ("confluent-kafka", "numpy", "pyarrow", "pyspark==4.0.0")
"""The packages of the extra `pipeline`. If one is missing, usually most are."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a job, and return the exit code. Prints one line for an error that stops the job.

    Raises errors that are bugs, and with `--debug` those of Spark.
    """
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
    except Exception as error:  # Spark's errors become one line
        theirs = isinstance(error, OSError) or type(error).__module__.startswith(_ONE_LINE)
        if "--debug" in given or not theirs:
            raise
        return _refused(told(error))


class _JobParser(argparse.ArgumentParser):
    """The parser of a job, which prints a similar option beside an unknown option."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        parsed, rest = super().parse_known_args(args, namespace)
        if rest:
            word = rest[0].partition("=")[0]
            close = get_close_matches(word, self._option_string_actions, 1, _CLOSE)
            hint = f" (is it {close[0]}?)" if close else ""
            if word in _NOT_HERE:
                hint = f": {_NOT_HERE[word]}"
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return parsed, rest


def parser_for(job: str | None) -> argparse.ArgumentParser:
    """Return the parser of the command. Of all jobs, only `job` is imported and has its options."""
    parser = argparse.ArgumentParser(
        prog="ottla-pipeline", description="Spark jobs on the topics of Ottla or Apache Kafka."
    )
    jobs = parser.add_subparsers(dest="job", metavar="JOB", required=True, parser_class=_JobParser)
    for name, about in _JOBS.items():
        job_parser = jobs.add_parser(
            name,
            help=about,
            description=f"{about}\n\n  {_EXAMPLES[name]}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == job:
            _module(name).add_arguments(job_parser)
            if name not in _WITHOUT_SPARK:
                import_module("pipeline.spark.session").add_arguments(job_parser)
            job_parser.add_argument(
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
    # Check before the JVM starts: Spark would need half a minute for errors that are known at once.
    sessions = import_module("pipeline.spark.session")
    sessions.check(options)
    module.check(options)
    needs = module.needs(options) if hasattr(module, "needs") else sessions.NOTHING_MORE
    spark = sessions.make_session(options.job, options, needs)
    try:
        return run(spark, options)
    finally:
        with suppress(Exception):  # Spark may have ended first, and its error is printed
            spark.stop()


def _module(job: str) -> Any:
    return import_module(f"pipeline.jobs.{job}")


def _refused(sentence: str, exit_code: int = EXIT_REFUSED) -> int:
    print(f"ottla-pipeline: {sentence}", file=sys.stderr, flush=True)
    return exit_code
