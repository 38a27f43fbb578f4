"""All scenarios: a module that has some is named here, and has a list `SCENARIOS`."""

from __future__ import annotations

from importlib import import_module

from bench.scenario import Scenario

MODULES = (
    "bench.scenarios",
    "bench.fetching",
    "bench.floor",
    "bench.cluster",
    "bench.fan_out",
    "bench.burst",
    "bench.idle",
    "bench.groups",
    "bench.consumer_groups.scenarios",
    "bench.memory",
    "bench.transactions",
    "bench.tls",
    "bench.logins",
    "bench.acls",
    "bench.innocent.scenarios",
)


def all_scenarios() -> dict[str, Scenario]:
    """By name, in the order of the modules."""
    found: dict[str, Scenario] = {}
    for module in MODULES:
        for scenario in import_module(module).SCENARIOS:
            if scenario.name in found:
                raise ValueError(f"two scenarios are called {scenario.name}")
            found[scenario.name] = scenario
    return found
