"""The `sitecustomize` of the Python that runs ducktape.

It multiplies what a test waits for a condition by the variable PATIENCE, because the tests' limits
are for hosts with a machine each. So too the time without a record after which a console consumer
ends: it is one second in many tests, and the start of a JVM takes more on a busy machine.

It also keeps the data folders of brokers out of the logs that ducktape copies after a failure:
hundreds of small files, a minute for each node.

It runs in ducktape's environment, where the project's modules are not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ducktape.services.service import Service
from ducktape.tests.test import Test
from ducktape.utils import util

FACTOR = float(os.environ.get("PATIENCE", "1"))
_wait_until = util.wait_until
_copy_service_logs = Test.copy_service_logs
_start = Service.start


def wait_patiently(
    condition: Callable[[], object], timeout_sec: float, *args: Any, **kwargs: Any
) -> None:
    """Wait until the condition holds, `FACTOR` times as long as asked for."""
    _wait_until(condition, timeout_sec * FACTOR, *args, **kwargs)


def start_patiently(service: Any, *args: Any, **kwargs: Any) -> None:
    """Start the service; the first time, with `FACTOR` times the time-out of a console consumer."""
    for name in ("consumer_timeout_ms", "share_consumer_timeout_ms"):
        limit_ms = getattr(service, name, None)
        if limit_ms and not hasattr(service, "patient_from"):
            service.patient_from = limit_ms
            setattr(service, name, int(limit_ms * FACTOR))
    _start(service, *args, **kwargs)


def copy_logs_only(test: Any, *args: Any, **kwargs: Any) -> None:
    """Copy the logs of the test's services, without brokers' data folders."""
    for service in test.test_context.services:
        names = [name for name in service.logs if not name.startswith("kafka_data")]
        service.logs = {name: service.logs[name] for name in names}
    _copy_service_logs(test, *args, **kwargs)


util.wait_until = wait_patiently
Service.start = start_patiently
Test.copy_service_logs = copy_logs_only
