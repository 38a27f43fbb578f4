"""For the tests of other projects: a real broker at once, faults on demand, pytest's fixtures.

    from ottla.testing import Broker, Cluster

It runs in their processes, so it imports the standard library and pytest alone, and nothing but
itself before a name is asked for.
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

_WHERE = {
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
    if name not in _WHERE:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
