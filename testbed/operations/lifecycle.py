"""Start, and whether it is there; a stop is a signal, as with any broker."""

from __future__ import annotations

import os

from broker.config.file import load_config
from broker.process.logging_setup import configure_logging
from broker.process.server import format_folders
from broker.process.standard_streams import say
from ottla.testing.frames import Json
from testbed.as_new import AsNew
from testbed.control import Arguments, operation
from testbed.served import Served
from testbed.standing import stand_where

_INTERNAL_TOPICS = ("offsets.topic.num.partitions", "transaction.state.log.num.partitions")
_PARTITIONS = "1"
_PARTITIONS_OF_CLUSTER = "3"
"""Of 50, the first group or transaction would wait for the files: longer than a test takes."""


@operation("ping")
async def ping(_broker: Served, _args: Arguments) -> Json:
    """Whether it answers."""
    return {"pid": os.getpid()}


@operation("start")
async def start(broker: Served, args: Arguments) -> Json:
    """With `properties` above the single-node profile; a node of several has a `cluster_id`.

    With `durable`, what it writes is on its disk as any broker's is, and its internal topics have
    as many partitions; else they have few. Its clocks are ahead of the machine's by `ahead_ms`.
    `place` is where whoever asks stands. `as_new` is what an earlier start has told.
    """
    if "place" in args:
        stand_where(args["place"])
    keys = dict(args["properties"]) if args.get("durable") else _of_a_test(args)
    config = load_config(None, [f"{key}={value}" for key, value in keys.items()])
    configure_logging(config.ottla_log_level, config.ottla_log_format)
    cluster_id = args.get("cluster_id")
    if cluster_id is not None:
        format_folders(config, cluster_id)
    ahead_ms = float(args.get("ahead_ms") or 0)
    told = args.get("as_new")
    port = await broker.start(
        config,
        durable=bool(args.get("durable")),
        ahead_ms=ahead_ms,
        as_new=None if told is None else AsNew.from_channel(told),
    )
    say(f"ottla: node {config.node_id} is ready: connect to port {port}")
    return {
        "port": port,
        "node_id": config.node_id,
        "pid": os.getpid(),
        "as_new": broker.as_new.to_channel(),
    }


def _of_a_test(args: Arguments) -> dict[str, str]:
    """The properties, with what suits a broker that lives for a test and is not set otherwise."""
    partitions = _PARTITIONS if args.get("cluster_id") is None else _PARTITIONS_OF_CLUSTER
    return dict.fromkeys(_INTERNAL_TOPICS, partitions) | dict(args["properties"])
