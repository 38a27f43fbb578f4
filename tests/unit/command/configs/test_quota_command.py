"""`ottla quota`: words and what is printed."""

from __future__ import annotations

import json

import pytest

from command.configs import quota_command
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
)
from protocol.messages.describe_client_quotas import (
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from tests.unit.client.scripted import ScriptedCluster
from tests.unit.command.run_ottla import Ottla, ottla_on


@pytest.fixture
def cluster() -> ScriptedCluster:
    values = [ValueData("producer_byte_rate", 1e6), ValueData("request_percentage", 2.5)]
    of_both = [EntityData("user", "alice"), EntityData("client-id", "c")]
    entries = [EntryData([EntityData("user", "alice")], values), EntryData(of_both, values[:1])]
    return ScriptedCluster(
        answers={
            "DescribeClientQuotasRequest": DescribeClientQuotasResponse(entries=entries),
            "AlterClientQuotasRequest": AlterClientQuotasResponse(
                entries=[AlterClientQuotasResponseEntryData()]
            ),
        }
    )


@pytest.fixture
def ottla(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Ottla:
    return ottla_on(cluster, [quota_command], monkeypatch, capfd)


def test_list(ottla: Ottla, cluster: ScriptedCluster) -> None:
    assert ottla("quota", "list")[1].splitlines()[1:] == [
        "alice  -          -   producer_byte_rate  1000000",
        "alice  -          -   request_percentage  2.5",
        "alice  c          -   producer_byte_rate  1000000",
    ]
    assert ottla("quota", "list", "--json")[1].splitlines()[1] == (
        '{"user": "alice", "client_id": null, "ip": null, "quota": "request_percentage", '
        '"value": 2.5}'
    )
    cluster.answers["DescribeClientQuotasRequest"] = DescribeClientQuotasResponse()
    assert ottla("quota", "list") == (0, "", "ottla: no quotas\n")


def test_set(ottla: Ottla, cluster: ScriptedCluster) -> None:
    done = ottla("quota", "set", "--user", "alice", "producer_byte_rate=1kB")
    assert done == (0, "", "ottla: user alice: quotas are set\n")
    assert cluster.asked_for("AlterClientQuotasRequest")[0].entries[0].ops[0].value == 1000
    assert (
        "nothing was changed"
        in ottla("quota", "set", "--ip", "*", "connection_creation_rate=1", "--dry-run")[2]
    )
    told = ottla("quota", "set", "--user", "alice", "--json", "request_percentage=50%")
    assert told == (
        0,
        '{"user": "alice", "client_id": null, "ip": null, "quota": "request_percentage", '
        '"value": 50.0, "change": "set"}\n',
        "",
    )
    for wrong in (["x"], ["a=1"], ["--user", "a", "nope=1"]):
        assert ottla("quota", "set", *wrong)[0] == 2


def test_remove_takes_those_of_just_this_entity(ottla: Ottla, cluster: ScriptedCluster) -> None:
    code, _, error = ottla("quota", "remove", "--user", "alice")
    assert code == 0 and "producer_byte_rate, request_percentage removed" in error
    sent = cluster.asked_for("AlterClientQuotasRequest")[0].entries[0].ops
    assert all(one.remove for one in sent)
    code, _, error = ottla("quota", "remove", "--user", "alice", "--client-id", "c")
    assert error == "ottla: user alice, client-id c: producer_byte_rate removed\n"
    told = ottla("quota", "remove", "--user", "alice", "--json")
    assert [json.loads(line)["change"] for line in told[1].splitlines()] == ["removed"] * 2
    code, _, error = ottla("quota", "remove", "--user", "bob")
    assert code == 1 and "there are no quotas" in error
    code, _, error = ottla("quota", "remove", "--user", "alice", "consumer_byte_rate")
    assert code == 1 and "there are no consumer_byte_rate" in error
    assert ottla("quota", "remove", "--ip", "1", "producer_byte_rate")[0] == 2
