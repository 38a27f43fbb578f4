"""Changes to a running broker, and what is told of it then, as a real Kafka answered.

Each case that differs on purpose stands in `DIFFERENT`, with its row of docs/differences.md.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from broker.apis.alter_configs import AlterConfigsApis
from broker.apis.broker_loggers import BrokerLoggers
from broker.apis.describe_configs import DescribeConfigsApi
from broker.config.keys import OTTLA_CONFIG_DEF
from broker.config.parse import parse_config
from broker.config.values import BrokerConfig
from broker.requests.context import RequestContext, Respond
from protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from tests.architecture.sources import ROOT
from tests.golden import dynamic_config_cases as golden
from tests.unit.broker.apis.api_fixture import Cluster, ask
from tests.unit.broker.sliced_fixture import Turns

INVALID = 42
RECORDED: dict[str, Any] = json.loads(golden.RECORDED.read_text())


def differences() -> dict[str, Any]:
    return tomllib.loads((ROOT / "tests" / "differential" / "differences.toml").read_text())


def file_config() -> BrokerConfig:
    """What the recorded broker's file set, as far as it is told."""
    told = RECORDED["described"]["broker"]
    static = {name: row[0] for name, row in told.items() if row[1] == golden.STATIC}
    return parse_config({**static, **golden.OF_THE_MACHINE})


class Server:
    """The APIs above a controller that agrees."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.cluster.set_config(golden.BROKER, "", "min.insync.replicas", "1")
        config = file_config()
        self.alter = AlterConfigsApis(
            self.cluster,
            config,
            BrokerLoggers(),
            self._agree,
            self,
            Turns().answers,
            lambda _new, _names: None,
        )
        self.describe = DescribeConfigsApi(self.cluster, config, BrokerLoggers(), Turns().answers)

    def submit(self, job: Any, done: Any) -> None:
        """Run the job, as `ground.ports.Blocking` does."""
        done(job(), None)

    def _agree(self, _context: RequestContext, request: Any, respond: Respond) -> None:
        (one,) = request.resources
        respond(
            IncrementalAlterConfigsResponse(
                responses=[
                    AlterConfigsResourceResponse(0, None, one.resource_type, one.resource_name)
                ]
            )
        )


def settled() -> Server:
    """After `golden.SETTLED`."""
    server = Server()
    for level, change in golden.SETTLED.items():
        for name, text in change.items():
            server.cluster.set_config(golden.BROKER, golden.LEVELS[level], name, text)
    return server


def answers(server: Server, cases: dict[str, Any], recorded: str) -> Iterator[tuple[str, Any, Any]]:
    """Kafka's and Ottla's, of what a broker says; the rest is the controller's."""
    for case, request in cases.items():
        if RECORDED[recorded][case][0] not in (0, INVALID):
            continue
        told = golden.code_and_text(ask(server.alter.handle_incremental, request, 1))
        yield case, RECORDED[recorded][case], told


# The row, and what the case and Ottla's text match.
DIFFERENT = (
    ("configs-of-running-broker", ".*", r"Ottla takes them from its configuration file"),
    ("configs-of-running-broker", "super.users|allow.everyone", "^Cannot update these configs"),
    ("configs-of-running-broker", "(builder|factory).class", "broker id must be specified"),
    ("jaas-texts-checked", r"listener\.name\.", "no such listener|^unknown configuration key"),
    ("per-ip-overrides-checked", "max.connections.per.ip.overrides", "is not host:count"),
    ("texts-of-dynamic-configs", '"log.cleaner.threads": "0"', "should be at least 1"),
    ("texts-of-dynamic-configs", "max.connections.*num.io.threads", "for configuration max.conn"),
)


def row(case: str, ours: list[Any]) -> str | None:
    """Why an answer may differ from Kafka's: it refuses, and there is a row of it."""
    code, text = ours
    rows = [
        one for one, of, says in DIFFERENT if re.search(of, case) and re.search(says, text or "")
    ]
    return rows[0] if code == INVALID and rows else None


@pytest.mark.parametrize("then", [False, True])
def test_each_change_is_answered_as_kafka_does(then: bool) -> None:
    server = settled() if then else Server()
    cases = golden.settled_cases() if then else golden.cases()
    recorded = "answers_settled" if then else "answers"
    told = list(answers(server, cases, recorded))
    assert len(told) >= len(RECORDED[recorded]) - 1
    assert [one for one in told if one[1] != one[2] and row(one[0], one[2]) is None] == []
    assert sum(kafka == ours for _, kafka, ours in told) > 0.8 * len(told)


def test_each_difference_has_its_row() -> None:
    known = {one["id"] for one in differences()["difference"]}
    met = {
        row(case, ours)
        for case, kafka, ours in answers(Server(), golden.cases(), "answers")
        if kafka != ours
    }
    assert met == {one for one, _, _ in DIFFERENT}
    assert sorted(met - known) == []


@pytest.mark.parametrize("level", golden.LEVELS)
@pytest.mark.parametrize("then", [False, True])
def test_everything_is_described_as_kafka_does(level: str, then: bool) -> None:
    """Names, values, sources, what can change, types and synonyms, key by key."""
    server = settled() if then else Server()
    request = golden.describe(golden.LEVELS[level])
    told = golden.rows(ask(server.describe.handle, request, 4))
    ours = {name: one for name, one in told.items() if name not in OTTLA_CONFIG_DEF}
    kafka = RECORDED["described_settled" if then else "described"][level]
    different = [
        (name, kafka.get(name), ours.get(name))
        for name in sorted({*kafka, *ours})
        if kafka.get(name) != ours.get(name)
    ]
    assert different == []
    assert len(ours) > (300 if level == "broker" else 0)
