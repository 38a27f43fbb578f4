"""Quotas: whose, how much, what is asked and what answers mean."""

from __future__ import annotations

import pytest

from broker.config.start_error import StartError
from client.configs.quotas import (
    ListedQuota,
    alter,
    as_text,
    check_key,
    entity_of,
    listed,
    parse_rates,
)
from client.refusals import Refused
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

ALICE = (("user", "alice"),)
ADDRESS = (("ip", "1.2.3.4"),)


def test_whose() -> None:
    assert entity_of({"user": "alice", "client-id": None, "ip": None}) == ALICE
    both = entity_of({"client-id": "c", "user": "*"})
    assert both == (("user", "*"), ("client-id", "c"))
    assert as_text(both) == "the default of user, client-id c"
    for names in ({}, {"user": ""}, {"user": "a", "ip": "1.2.3.4"}):
        with pytest.raises(StartError):
            entity_of(names)


def test_how_much() -> None:
    pairs = {"producer_byte_rate": "10MB", "request_percentage": "50%", "consumer_byte_rate": "1.5"}
    assert list(parse_rates(pairs, ALICE).values()) == [10_000_000, 50, 1.5]
    for text in ("", "x", "-1", "0", "inf", "nan", "10 mb", " 5"):
        with pytest.raises(StartError, match="give a number above 0"):
            parse_rates({"producer_byte_rate": text}, ALICE)


def test_which_quotas_there_are() -> None:
    check_key("connection_creation_rate", ADDRESS)
    for key, entity in (("connection_creation_rate", ALICE), ("producer_byte_rate", ADDRESS)):
        with pytest.raises(StartError, match=f"{key} is no quota of theirs"):
            check_key(key, entity)


def test_those_that_there_are() -> None:
    entries = [
        EntryData([EntityData("user", "bob")], [ValueData("b", 2.5), ValueData("a", 1.0)]),
        EntryData([EntityData("ip", None)], [ValueData("c", 3.0)]),
    ]
    answer = DescribeClientQuotasResponse(entries=entries)
    cluster = ScriptedCluster(answers={"DescribeClientQuotasRequest": answer})
    assert listed(cluster, {"user": "*", "client-id": "x", "ip": None}) == [
        ListedQuota(None, None, "*", "c", 3.0),
        ListedQuota("bob", None, None, "a", 1.0),
        ListedQuota("bob", None, None, "b", 2.5),
    ]
    (request,) = cluster.asked_for("DescribeClientQuotasRequest")
    asked = [(one.entity_type, one.match_type, one.match) for one in request.components]
    assert asked == [("user", 1, None), ("client-id", 0, "x")]
    refused = DescribeClientQuotasResponse(error_code=31)
    with pytest.raises(Refused, match="DescribeConfigs on the cluster"):
        listed(ScriptedCluster(answers={"DescribeClientQuotasRequest": refused}), {})


def altered(code: int) -> ScriptedCluster:
    entry = AlterClientQuotasResponseEntryData(code, "no")
    answer = AlterClientQuotasResponse(entries=[entry])
    return ScriptedCluster(answers={"AlterClientQuotasRequest": answer})


def test_what_is_set_and_removed() -> None:
    cluster = altered(0)
    alter(cluster, (("user", "*"),), {"a": 2.0}, ["b"], dry_run=True)
    (request,) = cluster.asked_for("AlterClientQuotasRequest")
    (entry,) = request.entries
    assert request.validate_only
    assert [(one.entity_type, one.entity_name) for one in entry.entity] == [("user", None)]
    assert [(one.key, one.value, one.remove) for one in entry.ops] == [
        ("a", 2.0, False),
        ("b", 0.0, True),
    ]
    with pytest.raises(Refused, match="INVALID_REQUEST: no"):
        alter(altered(42), ALICE, {"a": 1.0})
