"""The operations that start a broker and check that it is alive; a stop is a signal, as with any
broker."""

from __future__ import annotations

import os

from broker.config.file import load_config
from broker.process.formatting import format_folders
from broker.process.logging_setup import configure_logging
from broker.process.standard_streams import say
from ottla.testing.frames import Json
from testbed.broker_under_test import BrokerUnderTest
from testbed.control import Arguments, operation
from testbed.initial_state import InitialState
from testbed.standing import adopt_place

_INTERNAL_TOPICS = (
    "offsets.topic.num.partitions",
    "share.coordinator.state.topic.num.partitions",
    "transaction.state.log.num.partitions",
)
_PARTITIONS = "1"
_PARTITIONS_OF_CLUSTER = "3"
"""With 50, the first group or transaction would wait for the files, longer than a test runs."""


@operation("ping")
async def ping(_broker: BrokerUnderTest, _args: Arguments) -> Json:
    """Return the pid of the broker's process."""
    return {"pid": os.getpid()}


@operation("start")
async def start(broker: BrokerUnderTest, args: Arguments) -> Json:
    """Start the broker with `properties` over the single-node profile; `cluster_id` is for a
    cluster, and formats the data folders. Return its "port", "node_id", "pid" and "initial_state".
    Raises StartError, ConfigError.

    `durable`: writes are synced to the disk, and internal topics have their usual number of
    partitions; else they have few. `ahead_ms`: how far the clocks are ahead of the machine's.
    `place`: folder, environment and import path of the tests' process. `initial_state`: the value
    that the first start returned under that name.
    """
    if "place" in args:
        adopt_place(args["place"])
    keys = dict(args["properties"]) if args.get("durable") else _of_a_test(args)
    config = load_config(None, [f"{key}={value}" for key, value in keys.items()])
    configure_logging(config.ottla_log_level, config.ottla_log_format)
    cluster_id = args.get("cluster_id")
    if cluster_id is not None:
        format_folders(config, cluster_id)
    ahead_ms = float(args.get("ahead_ms") or 0)
    state = args.get("initial_state")
    port = await broker.start(
        config,
        durable=bool(args.get("durable")),
        ahead_ms=ahead_ms,
        initial_state=None if state is None else InitialState.from_channel(state),
    )
    say(f"ottla: node {config.node_id} is ready: connect to port {port}")
    return {
        "port": port,
        "node_id": config.node_id,
        "pid": os.getpid(),
        "initial_state": broker.initial_state.to_channel(),
    }


def _of_a_test(args: Arguments) -> dict[str, str]:
    """Return `properties` with a small number of partitions for the internal topics, unless they
    set another: 1, or 3 in a cluster."""
    partitions = _PARTITIONS if args.get("cluster_id") is None else _PARTITIONS_OF_CLUSTER
    return dict.fromkeys(_INTERNAL_TOPICS, partitions) | dict(args["properties"])
