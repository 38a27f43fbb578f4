"""The limit on file descriptors of this process: its files and connections."""

from __future__ import annotations

import contextlib
import resource

from broker.network.limits.connection_quotas import UNLIMITED

_TRIED = (65_536, 10_240)
"""The limits to try if the system refuses its hard limit; the last one is macOS' OPEN_MAX."""


def raise_descriptor_limit() -> None:
    """Raise the process's limit on descriptors as far as the system allows.

    Every segment and every connection takes a descriptor, and the usual soft limit of 1,024 is for
    programs that call select(). On macOS the soft limit is 256, and the hard limit is infinite but
    cannot be set.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (hard, *_TRIED):
        if soft < limit <= hard:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
                return


def open_files_max() -> int:
    """Return how many descriptors this process may have open now; UNLIMITED if the system sets no
    limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft
