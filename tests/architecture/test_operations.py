"""The keys, metrics, loggers and files that docs/operations.md names exist."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from broker.config.authorizer import STANDARD_AUTHORIZER
from broker.config.keys import BROKER_CONFIG_DEF
from broker.config.parse import single_node_config
from broker.process.server import Server, loop_factory
from controller.settings import DEFAULT_FEATURES
from storage.log.checkpoints import CLEAN_SHUTDOWN, META_PROPERTIES
from tests.architecture.sources import ROOT

TEXT = (ROOT / "docs" / "operations.md").read_text()
NAMES = re.findall(r"`([^`\n]+)`", TEXT)
# Configs of topics in the document, which are no keys of a broker.
OF_TOPICS = ("max.message.bytes", "retention.bytes")
FEATURES = set(DEFAULT_FEATURES)
LOGGERS = ("ottla.broker", "ottla.controller", "ottla.authorizer")
ENDS = (".md", ".yml", ".log", ".index", ".properties", ".metadata", ".checkpoint")


def test_its_keys_are_those_of_the_configuration() -> None:
    dotted = {
        name.partition("=")[0]
        for name in NAMES
        if re.fullmatch(r"[a-z]+(\.[a-z]+)+(=.*)?", name) and not name.endswith(ENDS)
    }
    keys = {name for name in dotted if not name.startswith(LOGGERS)}
    assert len(keys) > 20
    assert sorted(keys - set(BROKER_CONFIG_DEF) - set(OF_TOPICS) - FEATURES) == []


def test_its_defaults_are_those_of_the_keys() -> None:
    shown = {
        "socket.request.max.bytes": 100 * 1024 * 1024,
        "message.max.bytes": 1024 * 1024 + 12,
        "queued.max.requests": 500,
        "ottla.partial.frame.timeout.ms": 30_000,
        "ottla.sasl.oauthbearer.response.max.bytes": 1024 * 1024,
        "connections.max.idle.ms": 600_000,
        "max.incremental.fetch.session.cache.slots": 1_000,
        "ottla.queued.max.request.memory.percent": 25,
        "broker.session.timeout.ms": 9_000,
        "log.cleaner.dedupe.buffer.size": 128 * 1024 * 1024,
        "log.segment.bytes": 1024**3,
        "log.retention.hours": 7 * 24,
        "log.retention.bytes": -1,
    }
    assert {key: int(BROKER_CONFIG_DEF[key].default or "") for key in shown} == shown


def test_its_loggers_are_named_after_files() -> None:
    loggers = [name for name in NAMES if name.startswith(("ottla.broker.", "ottla.controller."))]
    files = [ROOT / f"{name.partition('.')[2].replace('.', '/')}.py" for name in loggers]
    assert len(files) >= 2
    assert [file for file in files if "getLogger(" not in file.read_text()] == []


async def _shown(folder: Path) -> set[str]:
    listeners = "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"
    keys = {"listeners": listeners, "authorizer.class.name": STANDARD_AUTHORIZER}
    keys |= {"log.dirs": str(folder), "ottla.metrics.port": "0"}
    server = Server(single_node_config(keys))
    await server.start()
    shown = {family.name for family in server.node.metrics.families()}
    await server.stop()
    return shown


def test_its_metrics_are_shown(tmp_path: Path) -> None:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        shown = runner.run(_shown(tmp_path))
    named = re.findall(r"`(kafka_[a-z_]+[a-z])`", TEXT)
    assert len(named) > 10
    assert [name for name in named if name.removesuffix("_total") not in shown] == []


def test_its_files_have_these_names() -> None:
    assert {CLEAN_SHUTDOWN, META_PROPERTIES} <= set(NAMES)
