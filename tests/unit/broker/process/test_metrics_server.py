"""/metrics answers over HTTP with values that were read on the event loop's thread."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from functools import partial

import pytest

from broker.config.start_error import StartError
from broker.metrics import STARTING, Family, Metrics
from broker.process import metrics_server, port_holder
from broker.process.metrics_server import MetricsServer
from tests.tools.waiting import LIMIT_S


def fetch(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=LIMIT_S) as answer:
        return str(answer.read().decode())


async def test_a_scrape_reads_on_the_loop() -> None:
    metrics = Metrics()
    metrics.topic("orders").messages_in += 3
    readers: list[threading.Thread] = []
    metrics.gauge("kafka_x", "A gauge", lambda: readers.append(threading.current_thread()) or 1.5)
    metrics.histogram(
        "kafka_y", "A histogram", lambda: [({"le": "0.1"}, 3.0), ({"le": "+Inf"}, 4.0), ({}, 0.5)]
    )
    server = MetricsServer(metrics, "127.0.0.1", 0)
    try:
        text = await asyncio.to_thread(fetch, server.port)
    finally:
        server.stop()
    assert 'kafka_server_brokertopicmetrics_messagesin_total{topic="orders"} 3.0' in text
    assert "kafka_server_brokertopicmetrics_messagesin_total 3.0" in text
    assert "# TYPE kafka_x gauge" in text and "kafka_x 1.5" in text
    assert "# TYPE kafka_y histogram" in text
    for line in ('bucket{le="0.1"} 3.0', 'bucket{le="+Inf"} 4.0', "count 4.0", "sum 0.5"):
        assert f"kafka_y_{line}" in text
    assert readers == [threading.current_thread()]


async def test_a_histogram_may_have_further_labels() -> None:
    metrics = Metrics()
    of_a, of_b = {"request": "A"}, {"request": "B"}
    samples = [
        sample
        for labels, count in ((of_a, 3.0), (of_b, 4.0))
        for sample in (({**labels, "le": "+Inf"}, count), (labels, count / 2))
    ]
    metrics.histogram("kafka_z", "A histogram", lambda: samples)
    server = MetricsServer(metrics, "127.0.0.1", 0)
    try:
        text = await asyncio.to_thread(fetch, server.port)
    finally:
        server.stop()
    for name, count, sum_of in (("A", 3.0, 1.5), ("B", 4.0, 2.0)):
        assert f'kafka_z_bucket{{le="+Inf",request="{name}"}} {count}' in text
        assert f'kafka_z_count{{request="{name}"}} {count}' in text
        assert f'kafka_z_sum{{request="{name}"}} {sum_of}' in text


async def test_who_has_its_port_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_holder, "holder_of_port", lambda port: f"process 7 (on {port})")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartError, match=rf"it is held by process 7 \(on {port}\)$"):
            MetricsServer(Metrics(), "127.0.0.1", port)


async def test_a_long_scrape_leaves_the_loop_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_server, "SLICE_S", 0.0)
    metrics = Metrics()
    order: list[str] = []
    loop = asyncio.get_running_loop()

    def read(name: str) -> float:
        order.append(name)
        loop.call_soon(order.append, "all else")
        return 1.0

    for name in ("a", "b", "c"):
        metrics.gauge(f"kafka_{name}", "A gauge", partial(read, name))
    server = MetricsServer(metrics, "127.0.0.1", 0)
    try:
        text = await asyncio.to_thread(fetch, server.port)
    finally:
        server.stop()
    assert order == ["a", "all else", "b", "all else", "c", "all else"]
    assert "kafka_a 1.0" in text and "kafka_c 1.0" in text


async def test_a_scrape_holds_few_values_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_server, "HELD_VALUES", 3)
    metrics = Metrics()
    for name in ("a", "b", "c", "d"):
        of_each = (f"kafka_{name}", "Two", float)
        metrics.many([of_each], lambda: [({"x": "1"}, 1), ({"x": "2"}, 2)])
    steps = metrics.steps()
    sizes = [len(found) async for found in some_of(steps)]
    assert sizes == [3, 3, 3, 3, 2, 2], "twelve counters of all topics come first"
    server = MetricsServer(metrics, "127.0.0.1", 0)
    try:
        text = await asyncio.to_thread(fetch, server.port)
    finally:
        server.stop()
    for name in ("a", "b", "c", "d"):
        assert f'kafka_{name}{{x="2"}} 2.0' in text


async def some_of(steps: Iterator[Family | None]) -> AsyncIterator[list[Family]]:
    while found := await metrics_server._read(steps):
        yield found


async def test_a_taken_port_is_one_line_that_names_the_key() -> None:
    first = MetricsServer(Metrics(), "127.0.0.1", 0)
    try:
        with pytest.raises(StartError, match=r"ottla\.metrics\.port"):
            MetricsServer(Metrics(), "127.0.0.1", first.port)
    finally:
        first.stop()


def test_without_descriptors_a_connection_is_not_tried_in_a_busy_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paused: list[float] = []
    monkeypatch.setattr(metrics_server.time, "sleep", paused.append)

    def exhausted() -> tuple[object, object]:
        raise OSError(errno.EMFILE, "Too many open files")

    with pytest.raises(OSError, match="Too many"):
        metrics_server._with_pause(exhausted)()
    assert paused == [metrics_server.ACCEPT_PAUSE_S]
    assert metrics_server._with_pause(lambda: (1, 2))() == (1, 2)


def answered(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=LIMIT_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize(
    ("reason", "live", "ready", "metrics"),
    [
        (None, (200, "live\n"), (200, "ready\n"), 200),
        ("stopping", (200, "live\n"), (503, "stopping\n"), 200),
        (STARTING, (200, "live\n"), (503, "starting\n"), 503),
    ],
)
async def test_whether_it_lives_and_is_ready(
    reason: str | None, live: tuple[int, str], ready: tuple[int, str], metrics: int
) -> None:
    server = MetricsServer(Metrics(), "127.0.0.1", 0, lambda: reason)
    try:
        assert await asyncio.to_thread(answered, server.port, "/live") == live
        assert await asyncio.to_thread(answered, server.port, "/ready") == ready
        for path in ("/metrics", "/"):
            assert (await asyncio.to_thread(answered, server.port, path))[0] == metrics
        assert await asyncio.to_thread(answered, server.port, "/health") == (
            404,
            "there are /metrics, /live and /ready\n",
        )
    finally:
        server.stop()


async def test_a_loop_that_does_not_answer_does_not_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_server, "SCRAPE_TIMEOUT_S", 0.05)
    server = MetricsServer(Metrics(), "127.0.0.1", 0)
    try:
        asked = threading.Thread(target=lambda: found.append(answered(server.port, "/live")))
        found: list[tuple[int, str]] = []
        asked.start()
        asked.join()  # the loop's own thread waits, so it answers nobody
        assert found[0][0] == 503 and "has not answered" in found[0][1]
    finally:
        server.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="prometheus-client reads /proc")
async def test_the_process_is_shown() -> None:
    server = MetricsServer(Metrics(), "127.0.0.1", 0)
    try:
        text = await asyncio.to_thread(fetch, server.port)
    finally:
        server.stop()
    for name in ("process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"):
        assert f"\n{name} " in text
