"""Helpers for the tests of other projects: real brokers, faults on demand, fixtures for pytest.

    from ottla.testing import Broker, Cluster

This package runs in the processes of those tests. So it imports only the standard library and
pytest, and its own modules only when a name is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.testing.broker import Broker
    from ottla.testing.broker_factory import BrokerFactory
    from ottla.testing.cluster import Cluster
    from ottla.testing.errors import OttlaError
    from ottla.testing.faults import Fault
    from ottla.testing.records import Message, Record
    from ottla.testing.requests import Request
    from ottla.testing.simulation.cluster import SimulatedCluster
    from ottla.testing.simulation.errors import OperationFailed, SimulationFailed
    from ottla.testing.simulation.finished import FinishedRun
    from ottla.testing.simulation.run import simulate
    from ottla.testing.topic import NotAsExpected, Topic

__all__ = [
    "Broker",
    "BrokerFactory",
    "Cluster",
    "Fault",
    "FinishedRun",
    "Message",
    "NotAsExpected",
    "OperationFailed",
    "OttlaError",
    "Record",
    "Request",
    "SimulatedCluster",
    "SimulationFailed",
    "Topic",
    "simulate",
]

_MODULES = {
    "Broker": "broker",
    "BrokerFactory": "broker_factory",
    "Cluster": "cluster",
    "Fault": "faults",
    "FinishedRun": "simulation.finished",
    "Message": "records",
    "NotAsExpected": "topic",
    "OperationFailed": "simulation.errors",
    "OttlaError": "errors",
    "Record": "records",
    "Request": "requests",
    "SimulatedCluster": "simulation.cluster",
    "SimulationFailed": "simulation.errors",
    "Topic": "topic",
    "simulate": "simulation.run",
}


def __getattr__(name: str) -> object:
    """Return the object of a name in `__all__`, and import its module at the first use. Raises
    AttributeError for any other name."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
