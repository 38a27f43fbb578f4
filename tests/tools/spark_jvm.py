"""The JVM in which PySpark runs in a process of tests.

PySpark keeps it when a session is stopped, with the jars that it was started with: a later session
that needs others does not find them there.
"""

from __future__ import annotations

from pyspark import SparkContext
from pyspark.sql import SparkSession

WITHIN_S = 90


def end_jvm_of_others(name: str) -> None:
    """End the JVM, unless the session in it is that of the application `name`."""
    session = SparkSession.getActiveSession()
    if session is not None and session.sparkContext.appName == name:
        return
    if session is not None:
        session.stop()
    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(WITHIN_S)
        SparkContext._gateway = SparkContext._jvm = None
