"""Each query of the dashboards and alert rules in docs/grafana has series on a running node."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from broker.config.parse import single_node_config
from broker.process.server import Server, loop_factory
from tests.architecture.sources import ROOT
from tests.tools.waiting import LIMIT_S

GRAFANA = ROOT / "docs" / "grafana"
ALERT = re.compile(r"^ +expr: '(.*)'$", re.MULTILINE)
GROUPING = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")


def metrics_of(query: str) -> set[str]:
    """Return the names of the series in a query of PromQL."""
    bare = re.sub(r"\[[^\]]*\]|\{[^}]*\}", "", GROUPING.sub("", query))
    words = set(re.findall(r"[a-zA-Z_:][\w:]*(?!\w*\s*\()", bare))
    return {word for word in words if word.startswith(("kafka_", "process_", "ottla_"))}


def queries() -> list[str]:
    panels = json.loads((GRAFANA / "ottla.json").read_text())["panels"]
    of_panels = [target["expr"] for panel in panels for target in panel["targets"]]
    return of_panels + ALERT.findall((GRAFANA / "alerts.yml").read_text())


def ottla(port: int, *words: str, given: str = "") -> None:
    command = [sys.executable, "-m", "ottla", *words, "--bootstrap-server", f"127.0.0.1:{port}"]
    done = subprocess.run(command, input=given, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def used_and_scraped(port: int, metrics_port: int) -> str:
    """Produce a record, commit a group's offset, and return the text of /metrics."""
    ottla(port, "topic", "create", "t")
    ottla(port, "produce", "t", given="a record\n")
    ottla(port, "group", "reset", "g", "--topic", "t", "--to", "start", "--execute")
    with urllib.request.urlopen(
        f"http://127.0.0.1:{metrics_port}/metrics", timeout=LIMIT_S
    ) as answer:
        return str(answer.read().decode())


async def scraped(folder: Path) -> str:
    listeners = "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"
    keys = {"listeners": listeners, "log.dirs": str(folder), "ottla.metrics.port": "0"}
    server = Server(single_node_config(keys | {"ottla.metrics.host": "127.0.0.1"}))
    (endpoint,) = await server.start()
    assert server._metrics_server is not None
    try:
        return await asyncio.to_thread(used_and_scraped, endpoint.port, server._metrics_server.port)
    finally:
        await server.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="the process' own figures are of /proc")
def test_each_query_has_series(tmp_path: Path) -> None:
    all_queries = queries()
    assert len(all_queries) > 35
    assert all(metrics_of(query) for query in all_queries)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        text = runner.run(scraped(tmp_path))
    shown = set(re.findall(r"^([a-z]\w*)[ {]", text, re.MULTILINE))
    assert sorted({name for query in all_queries for name in metrics_of(query)} - shown) == []
    assert 'kafka_consumergroup_lag{consumergroup="g",partition="0",topic="t"} 1.0' in text


def test_names_are_found_in_a_query() -> None:
    query = 'sum by (kafka_no) (rate(kafka_a_total{x="kafka_b"}[5m])) / on (le) process_c > 1'
    assert metrics_of(query) == {"kafka_a_total", "process_c"}
