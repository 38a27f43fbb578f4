"""The names of cases, the suite, and the rules of what can run."""

from __future__ import annotations

import json

import pytest

from tests.kafkatest import applicability, cases
from tests.kafkatest.applicability import why_not
from tests.kafkatest.cases import Case, CollectedCase

COLLECTED = """\
    <module=kafkatest.tests.core.a_test, cls=ATest, function=test_a, \
injected_args={'group_protocol': 'classic', 'on': True}, file=/opt/a_test.py, ignore=False, \
cluster_spec=[{"num_nodes": 6}]>
    <module=kafkatest.tests.core.b_test, cls=BTest, function=test_b, injected_args=None, \
file=/opt/b_test.py, ignore=True, cluster_spec=[{"num_nodes": 1}]>
"""


def case(file: str, function: str = "test_it", **arguments: object) -> Case:
    """Return a case of a file below kafkatest/tests/."""
    parameters = json.dumps(arguments) if arguments else ""
    return Case(f"kafkatest/tests/{file}.py", "ATest", function, parameters)


def test_a_case_is_read_as_it_is_written() -> None:
    for line in ('kafkatest/a.py::ATest.test_a@{"x": [1, "a@b"]}', "kafkatest/a.py::ATest.test_a"):
        assert str(Case.parse(line)) == line
    assert Case.parse('a.py::A.b@{"x": 1}').arguments == {"x": 1}
    with pytest.raises(ValueError, match="not FILE::CLASS.FUNCTION"):
        Case.parse("kafkatest/a.py")


def test_the_cases_that_ducktape_lists() -> None:
    first, second = cases.collected(COLLECTED)
    assert first == CollectedCase(
        case("core/a_test", "test_a", group_protocol="classic", on=True), is_ignored=False
    )
    assert second.is_ignored and str(second.case) == "kafkatest/tests/core/b_test.py::BTest.test_b"


def test_the_suite_has_a_case_for_each_group_protocol_and_one_that_can_run_where_there_is_one() -> (
    None
):
    old = case("core/x", group_protocol="classic", broker_version="3.9.1")
    combined = case("core/x", group_protocol="classic", metadata_quorum="COMBINED_KRAFT")
    isolated = case("core/x", group_protocol="classic", metadata_quorum="ISOLATED_KRAFT")
    streams = case("core/x", group_protocol="streams")
    switched_off = CollectedCase(case("core/y"), is_ignored=True)
    collected = [CollectedCase(it, is_ignored=False) for it in (old, combined, isolated, streams)]
    assert cases.representatives([*collected, switched_off], why_not) == [isolated, streams]
    assert cases.representatives(collected[:2], why_not) == [combined]


@pytest.mark.parametrize(
    ("it", "reason"),
    [
        (case("core/upgrade_test", from_kafka_version="dev"), applicability.OLD_RELEASES),
        (case("client/a_test", consumer_version="2.1.1"), applicability.OLD_RELEASES),
        (case("connect/connect_plugin_discovery_test"), applicability.OLD_RELEASES),
        (case("client/a_test", consumer_version="dev"), ""),
        (case("core/replication_test", tls_version="TLSv1.2"), ""),
        (case("tools/kibosh_test"), applicability.TOOLS_ONLY),
        (case("core/round_trip_fault_test", "test_with_latency"), applicability.NETEM),
        (case("core/authorizer_test"), applicability.KERBEROS),
        (case("core/a_test", "test_multiple_kraft_x", x="PLAINTEXT"), applicability.KERBEROS),
        (case("core/a_test", security_protocol="SASL_SSL"), applicability.KERBEROS),
        (case("core/a_test", sasl_mechanism="GSSAPI"), applicability.KERBEROS),
        (case("core/a_test", security_protocol="SASL_SSL", sasl_mechanism="PLAIN"), ""),
        (case("core/a_test", security_protocol="SSL"), ""),
        (case("client/share_consumer_test"), ""),
        (case("streams/a_test", group_protocol="streams"), applicability.STREAMS_GROUPS),
        (case("streams/a_test", group_protocol="classic"), ""),
        (case("streams/streams_static_membership_test"), applicability.STREAMS_GROUPS),
        (case("streams/streams_static_membership_test", group_protocol="classic"), ""),
        (
            case("streams/streams_smoke_test", group_protocol="classic"),
            applicability.STREAMS_GROUPS,
        ),
    ],
)
def test_why_a_case_cannot_run(it: Case, reason: str) -> None:
    assert why_not(it) == reason


def test_each_file_has_its_first_case_before_any_has_its_second() -> None:
    files = ("a", "a", "b", "a", "c")
    suite = [case(file, f"test_{place}") for place, file in enumerate(files)]
    order = [cased.function for cased in cases.in_turns(suite)]
    assert order == ["test_0", "test_2", "test_4", "test_1", "test_3"]


def test_the_suite_is_sorted_and_each_case_is_there_once() -> None:
    suite = cases.read_suite()
    assert suite and suite == sorted(set(suite))
    assert any(not why_not(it) for it in suite) and any(why_not(it) for it in suite)
