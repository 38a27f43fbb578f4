"""For the tests of other projects: a real broker at once, faults on demand, pytest's fixtures.

    from ottla.testing import Broker, Cluster

It runs in their processes, so it imports the standard library and pytest alone, and nothing but
itself before a name is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.testing.broker import Broker
    from ottla.testing.cluster import Cluster
    from ottla.testing.errors import OttlaError

__all__ = ["Broker", "Cluster", "OttlaError"]

_WHERE = {"Broker": "broker", "Cluster": "cluster", "OttlaError": "errors"}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
