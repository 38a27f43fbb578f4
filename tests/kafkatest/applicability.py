"""The rules by which a case of Kafka's tests cannot run on Ottla, or not on these hosts.

A rule is a reason and a condition of the case. The first rule that holds names the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.kafkatest.cases import Case

OLD_RELEASES = "needs older releases of Kafka"
TOOLS_ONLY = "tests a tool, without a broker"
NETEM = "needs tc netem"
KERBEROS = "needs Kerberos"
STREAMS_GROUPS = "needs streams groups"
TIERED_STORAGE = "needs tiered storage"

_RELEASE = re.compile(r"\d+\.\d+")
_UPGRADES = re.compile(
    r"core/(upgrade|transactions_upgrade|transactions_mixed_versions)_test"
    r"|streams_(application_)?upgrade_test|connect_plugin_discovery_test"
)
_KERBEROS_FILES = re.compile(r"/(delegation_token|authorizer|security_rolling_upgrade)_test")
_STREAMS_FILES = re.compile(r"streams_(topology_description_plugin|static_membership)_test")
_STREAMS_VERSION_FILES = re.compile(
    r"streams_(broker_down_resilience|relational_smoke|smoke|standby_replica)_test"
)
"""The tests whose set-up raises the feature `streams.version`, whatever protocol a case uses."""
_SASL = ("SASL_PLAINTEXT", "SASL_SSL")


@dataclass(frozen=True)
class Rule:
    """A reason against cases, and the condition under which it holds."""

    reason: str
    holds: Callable[[Case], bool]


def _names_release(case: Case) -> bool:
    """Return True if a parameter is a release of Kafka, other than the one under test."""
    versions = (value for name, value in case.arguments.items() if "version" in name)
    return any(_RELEASE.match(str(value)) for value in versions)


def _uses_kerberos(case: Case) -> bool:
    """Return True if the case logs in by GSSAPI, which is the tests' default mechanism."""
    arguments = case.arguments
    values = [value for value in arguments.values() if isinstance(value, str)]
    names_mechanism = any("mechanism" in name for name in arguments)
    return (
        "GSSAPI" in values
        or (not names_mechanism and any(value in _SASL for value in values))
        or _KERBEROS_FILES.search(case.file) is not None
        or case.function.startswith("test_multiple_kraft_")
    )


def _uses_streams_groups(case: Case) -> bool:
    """Return True if Kafka Streams uses its own group protocol (KIP-1071).

    Two files use it also in cases without the parameter, and some need its feature in any case.
    """
    protocol = case.arguments.get("group_protocol", "")
    return (
        protocol == "streams"
        or (protocol == "" and _STREAMS_FILES.search(case.file) is not None)
        or _STREAMS_VERSION_FILES.search(case.file) is not None
    )


RULES = (
    Rule(
        OLD_RELEASES,
        lambda case: _UPGRADES.search(case.file) is not None or _names_release(case),
    ),
    Rule(TOOLS_ONLY, lambda case: "kibosh" in case.file or "trogdor_test" in case.file),
    Rule(NETEM, lambda case: "network_degrade" in case.file or "with_latency" in case.function),
    Rule(KERBEROS, _uses_kerberos),
    Rule(STREAMS_GROUPS, _uses_streams_groups),
    Rule(TIERED_STORAGE, lambda case: "tiered_storage" in case.file),
)


def why_not(case: Case) -> str:
    """Return the reason against running the case on Ottla, empty if it can run."""
    return next((rule.reason for rule in RULES if rule.holds(case)), "")
