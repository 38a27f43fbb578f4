"""The modules that a host imports before it forks, so that a forked broker imports nothing more.

There are two steps. `load_broker` imports what every start needs; the first start waits for it.
`load_more` imports the modules that a running broker would import at the first request of a kind.
The host loads these one by one while it has nothing else to do.
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
    """Import the modules that a start needs, turn the garbage collector off, and freeze the objects
    so far (`gc.freeze`)."""
    gc.disable()  # see command.__main__; a forked broker turns it on again
    import_module(CHILD)
    with contextlib.suppress(ImportError):
        import_module("uvloop")
    import_module("broker.config.parse").single_node_config()
    gc.freeze()


def load_more() -> Iterator[str]:
    """Import one more module of `_LATER`, or of a package there, with each step, and yield a name.
    After the last, freeze the objects for the garbage collector."""
    for name in _LATER:
        yield name
        package = import_module(name)
        for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
            import_module(module.name)
            yield module.name
    gc.freeze()
