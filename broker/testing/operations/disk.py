"""A full disk on demand: `ottla.testing.faults` asks for it."""

from __future__ import annotations

from broker.testing.control import Arguments, Refused, operation
from broker.testing.served import Served
from ottla.testing.frames import Json


@operation("disk.fill")
async def fill(broker: Served, args: Arguments) -> Json:
    """No room is left: below the log directory that is named, or below all of them and that of the
    metadata. The directories that are full."""
    config = broker.config
    known = list(dict.fromkeys([*config.log_dirs, config.metadata_log_dir]))
    wanted = args.get("log_dir")
    if wanted is not None and wanted not in known:
        raise Refused(f"{wanted} is none of the broker's log directories: {', '.join(known)}")
    full = known if wanted is None else [wanted]
    for path in full:
        broker.room.fill(path)
    return full


@operation("disk.free")
async def free(broker: Served, _args: Arguments) -> Json:
    """There is room again. A log directory that has failed stays so until the next start."""
    broker.room.free()
    return None
