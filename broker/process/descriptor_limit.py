"""How many files and connections this process may open."""

from __future__ import annotations

import contextlib
import resource

from broker.network.limits.connection_quotas import UNLIMITED

_TRIED = (65_536, 10_240)
"""What is tried where the system gives less than its hard limit; the last is macOS' OPEN_MAX."""


def raise_descriptor_limit() -> None:
    """Let the process open as many files as the system allows it.

    Every segment and every connection takes a descriptor, and the usual soft limit of 1,024 is for
    programs that call select(). On macOS it is 256, below a hard one that has no end and that no
    process can have.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (hard, *_TRIED):
        if soft < limit <= hard:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
                return


def open_files_max() -> int:
    """What this process may open now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft
