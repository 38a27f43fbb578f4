"""What a host has loaded before it forks: so much that a broker imports nothing any more.

In two steps. `load_broker` is what every start needs, and the first one waits for it. `load_more`
are modules that a running broker imports with the first request of a kind; the host loads them one
by one while it has nothing else to do.
"""

from __future__ import annotations

import contextlib
import gc
import pkgutil
from collections.abc import Iterator
from importlib import import_module

CHILD = "testbed.child"
_LATER = (
    "encodings.utf_16_be",
    "broker.apis",
    "broker.transactions",
    "broker.verification",
    "controller.decisions",
    "controller.metadata",
    "controller.requests",
    "broker.node.controller_server",
    "protocol.messages",
)


def load_broker() -> None:
    """Import what a start needs, and do once what is remembered for all."""
    gc.disable()  # see command.__main__; a forked broker turns it on again
    import_module(CHILD)
    with contextlib.suppress(ImportError):
        import_module("uvloop")
    import_module("broker.config.parse").single_node_config()
    gc.freeze()


def load_more() -> Iterator[str]:
    """Import a module of `_LATER` with each step; its name."""
    for name in _LATER:
        yield name
        found = import_module(name)
        for one in pkgutil.walk_packages(getattr(found, "__path__", ()), f"{name}."):
            import_module(one.name)
            yield one.name
    gc.freeze()
