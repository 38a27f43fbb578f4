"""The endpoints of all views in one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from console.access import endpoints as access
from console.configs import endpoints as configs
from console.endpoints import Ask, Console, Endpoint, get
from console.flow import endpoints as flow
from console.groups import endpoints as groups
from console.messages import endpoints as messages
from console.overview import endpoints as overview
from console.quorum import endpoints as quorum
from console.replicas import endpoints as replicas
from console.segments import endpoints as segments
from console.topics import endpoints as topics
from console.transactions import endpoints as transactions


@dataclass(frozen=True, slots=True)
class About:
    """The console's own options that the page uses; `local` are the folders of `--data`."""

    bootstrap: str
    writes: bool
    local: list[str]


def _about(console: Console, _ask: Ask) -> About:
    options = console.options
    local = [str(path) for path in options.data]
    return About(options.bootstrap_server, options.allow_writes, local)


ENDPOINTS: tuple[Endpoint, ...] = (
    get("/api/about", _about),
    *access.ENDPOINTS,
    *configs.ENDPOINTS,
    *flow.ENDPOINTS,
    *groups.ENDPOINTS,
    *messages.ENDPOINTS,
    *overview.ENDPOINTS,
    *quorum.ENDPOINTS,
    *replicas.ENDPOINTS,
    *segments.ENDPOINTS,
    *topics.ENDPOINTS,
    *transactions.ENDPOINTS,
)

AT_START: tuple[Callable[[Console], object], ...] = (
    *groups.AT_START,
    *messages.AT_START,
    *overview.AT_START,
)
"""The states that record from the start of the console on, before the first request."""
