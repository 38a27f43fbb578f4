"""All scenarios: those in the list `SCENARIOS` of each module that is named here."""

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
    "bench.share_groups",
    "bench.memory",
    "bench.transactions",
    "bench.tls",
    "bench.logins",
    "bench.acls",
    "bench.innocent.scenarios",
)


def all_scenarios() -> dict[str, Scenario]:
    """Return all scenarios by name, in the order of the modules.

    Raises ValueError if two have the same name.
    """
    scenarios: dict[str, Scenario] = {}
    for module in MODULES:
        for scenario in import_module(module).SCENARIOS:
            if scenario.name in scenarios:
                raise ValueError(f"two scenarios are called {scenario.name}")
            scenarios[scenario.name] = scenario
    return scenarios
