"""The JVM that PySpark starts for a process of tests.

PySpark keeps the JVM when a session stops. A later session that needs other jars does not find
them in it.
"""

from __future__ import annotations

import contextlib
import subprocess
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

WITHIN_S = 90


def end_jvm_of_others(name: str) -> None:
    """End the JVM, unless it runs the application `name`.

    A test that reached its time limit may have left a context that does not answer. Its JVM is
    killed, and the next session starts another.
    """
    context: Any = SparkContext._active_spark_context
    if context is not None and context.appName == name and _answers(context):
        return
    if context is not None:
        with contextlib.suppress(Exception):  # the JVM may be gone or broken
            context.stop()
    gateway = SparkContext._gateway
    if gateway is not None:
        with contextlib.suppress(Exception):
            gateway.shutdown()
        gateway.proc.stdin.close()
        try:
            gateway.proc.wait(WITHIN_S)
        except subprocess.TimeoutExpired:
            gateway.proc.kill()
            gateway.proc.wait()
    _forget()


def _answers(context: Any) -> bool:
    try:
        return not context._jsc.sc().isStopped()
    except (Py4JError, OSError):
        return False


def _forget() -> None:
    """Clear PySpark's own references, so that the next session starts a JVM."""
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
