"""`ottla config`: words and what is printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from broker.config.file import load_config
from broker.config.start_error import StartError
from command.configs import config_command
from protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from tests.unit.client.scripted import ScriptedCluster, topic_of
from tests.unit.command.run_ottla import Ottla, ottla_on

CONFIGS = [
    DescribeConfigsResourceResult("own", "1", config_source=1),
    DescribeConfigsResourceResult("all", "2", config_source=3),
    DescribeConfigsResourceResult("filed", None, config_source=4, is_sensitive=True),
    DescribeConfigsResourceResult("plain", "4", config_source=5),
]


def described(request: Any) -> DescribeConfigsResponse:
    (one,) = request.resources
    keys = one.configuration_keys
    found = [config for config in CONFIGS if keys is None or config.name in keys]
    result = DescribeConfigsResult(0, None, one.resource_type, one.resource_name, found)
    return DescribeConfigsResponse(results=[result])


@pytest.fixture
def cluster() -> ScriptedCluster:
    done = AlterConfigsResourceResponse()
    return ScriptedCluster(
        [topic_of("t")],
        {
            "DescribeConfigsRequest": described,
            "IncrementalAlterConfigsRequest": IncrementalAlterConfigsResponse(responses=[done]),
        },
    )


@pytest.fixture
def ottla(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Ottla:
    return ottla_on(cluster, [config_command], monkeypatch, capfd)


def test_show_what_was_set(ottla: Ottla) -> None:
    assert ottla("config", "show", "--topic", "t")[1] == "KEY  VALUE  SOURCE\nown  1      topic\n"
    found = ottla("config", "show", "--broker", "1", "--json")[1].splitlines()
    assert [json.loads(one)["key"] for one in found] == ["all", "filed"]
    assert '"[hidden]"' in found[1]
    assert len(ottla("config", "show", "--topic", "t", "--all")[1].splitlines()) == 5
    assert "plain" in ottla("config", "show", "--topic", "t", "plain")[1]
    assert "nothing is set for group g" in ottla("config", "show", "--group", "g")[2]


def test_set(ottla: Ottla, cluster: ScriptedCluster) -> None:
    done = ottla("config", "set", "--broker", "all", "a=1", "--unset", "b")
    assert done == (0, "", "ottla: all brokers is changed\n")
    (request,) = cluster.asked_for("IncrementalAlterConfigsRequest")
    assert (request.resources[0].resource_type, request.resources[0].resource_name) == (4, "")
    told = ottla("config", "set", "--broker", "all", "a=1", "--json")
    assert told == (0, '{"broker": "all", "changed": true}\n', "")
    told = ottla("config", "set", "--topic", "t", "a=1", "--json", "--dry-run")
    assert told[1] == '{"topic": "t", "changed": false}\n'
    assert "nothing was changed" in ottla("config", "set", "--topic", "t", "a=1", "--dry-run")[2]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["show"], 2, "name one of --topic NAME"),
        (["show", "--topic", "t", "--group", "g"], 2, "name one of"),
        (["show", "--broker", "x"], 2, "give a broker's number, or all"),
        (["show", "--topic", "u"], 1, "no topic u"),
        (["show", "--topic", "t", "nope"], 2, "topic t has no config nope"),
        (["set", "--topic", "t"], 2, "nothing to change"),
        (["set", "--topic", "t", "a"], 2, "KEY=VALUE"),
        (["set", "--topic", "u", "a=1"], 1, "no topic u"),
        (["explain", "xyzzy"], 2, "no config has xyzzy"),
    ],
)
def test_what_is_wrong_is_one_line(ottla: Ottla, words: list[str], code: int, said: str) -> None:
    done, out, error = ottla("config", *words)
    assert (done, out, error.count("\n")) == (code, "", 1) and said in error


def test_example(ottla: Ottla, tmp_path: Path) -> None:
    """A node starts with the printed file."""
    code, out, _ = ottla("config", "example")
    file = tmp_path / "server.properties"
    file.write_text(out)
    assert code == 0 and "#num.partitions=1\n" in out
    assert load_config(str(file), []).warnings == ()
    with pytest.raises(StartError, match="ottla config example prints such a file"):
        load_config(str(tmp_path / "missing"), [])


def test_explain(ottla: Ottla) -> None:
    code, out, _ = ottla("config", "explain", "retention.ms")
    assert code == 0 and out.startswith("retention.ms\n  of a topic, long,")
    found = json.loads(ottla("config", "explain", "retention.ms", "--json")[1])
    assert found["key"] == "retention.ms" and found["meaning"]
    assert "\n\n" in ottla("config", "explain", "compression.type")[1]
