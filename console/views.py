"""Which views there are: the endpoints of all, one table."""

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
    """What the page needs to know of the console itself."""

    bootstrap: str
    writes: bool
    local: list[str]


def _about(console: Console, _ask: Ask) -> About:
    options = console.options
    local = [str(one) for one in options.data]
    return About(options.bootstrap_server, options.allow_writes, local)


ENDPOINTS: tuple[Endpoint, ...] = (
    get("/api/about", _about),
    # a view a line: *topics.endpoints.ENDPOINTS
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
"""States that are made before anybody asks: what they remember begins with the console."""
