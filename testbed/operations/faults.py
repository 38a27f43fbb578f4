"""The operations on faults: of requests, of the disk, of links to other nodes, and of the
controller.

A fault is known by the key that the caller of `fault.add` chooses, until `fault.lift`. No key is
used twice, so that no call lifts the fault of a broker that was started later.
"""

from __future__ import annotations

from ottla.testing.frames import Json
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from testbed.broker_under_test import BrokerUnderTest
from testbed.control import Arguments, operation
from testbed.faults.documented_errors import errors_of, is_documented
from testbed.faults.rule import Aim, Deed, Rule
from testbed.faults.subjects import ONLY_NODES
from testbed.faults.tally import SharedTally
from testbed.operation_error import OperationError
from testbed.operations.decoded_requests import api_key, did_you_mean, pascal


@operation("fault.add")
async def add(broker: BrokerUnderTest, args: Arguments) -> Json:
    """Add a fault from now on, under its `key`: a `deed`, an `api` and further conditions.

    `counted_at`: the path of the tally that several brokers share. Raises OperationError if there
    is no such API or error, or this broker does not serve the API. Also if Kafka never answers the
    API with the error, unless `force` is set.
    """
    deed = Deed(args["deed"])
    api = None if args.get("api") is None else api_key(args["api"])
    if api is not None and not broker.faults.may_meet(api):
        raise OperationError("misuse", f"no {pascal(api)} request is met: it is not served here")
    error = ErrorCode.NONE
    if deed is Deed.ERROR:
        error = error_of(args["error"])
        assert api is not None, "an error is one of an API"
        if not is_documented(api, error) and not args.get("force"):
            raise OperationError("misuse", _undocumented_text(api, error))
    rule = Rule(
        _aim_of(api, args),
        deed,
        error,
        float(args.get("delay_ms") or 0),
        float(args.get("cut_at", 0.5)),
        int(args.get("after") or 0),
        args.get("times"),
        float(args.get("probability", 1.0)),
        int(args.get("seed") or 0),
    )
    if args.get("counted_at"):
        rule.tally = SharedTally(args["counted_at"])
        rule.seed += broker.config.node_id  # else each node would draw the same numbers
    broker.faults.add(args["key"], rule)
    return None


@operation("fault.show")
async def show(broker: BrokerUnderTest, args: Arguments) -> Json:
    """Return how many requests a fault has matched ("seen") and applied to ("met"), and whether it
    is "over"; null if it was lifted."""
    rule = broker.faults.rule(args["key"])
    return (
        None if rule is None else {"seen": rule.matched, "met": rule.applied, "over": rule.is_over}
    )


@operation("fault.lift")
async def lift(broker: BrokerUnderTest, args: Arguments) -> Json:
    """Remove a fault, send its delayed answers, and close the connections of its unanswered
    requests. An unknown key is ignored."""
    broker.faults.lift(args["key"])
    return None


@operation("fault.clear")
async def clear(broker: BrokerUnderTest, _args: Arguments) -> Json:
    """Remove all faults, as `fault.lift` does."""
    broker.faults.clear()
    return None


@operation("connections.close")
async def close_connections(broker: BrokerUnderTest, _args: Arguments) -> Json:
    """Close all connections of clients now, but not those of other nodes, and return how many there
    were."""
    sockets = broker.server.sockets
    if sockets is None:
        return 0
    count: int = sockets.close_connections(
        "a test has asked for that", broker.sent.is_of_a_node_or_test
    )
    return count


@operation("disk.fill")
async def fill_disk(broker: BrokerUnderTest, args: Arguments) -> Json:
    """Leave no room below one log directory, or below all of them and the metadata's. Return the
    directories that are full.

    Raises OperationError for another directory.
    """
    config = broker.config
    directories = list(dict.fromkeys([*config.log_dirs, config.metadata_log_dir]))
    wanted = args.get("log_dir")
    if wanted is not None and wanted not in directories:
        raise OperationError(
            "misuse", f"{wanted} is none of the broker's log directories: {', '.join(directories)}"
        )
    full = directories if wanted is None else [wanted]
    for path in full:
        broker.room.fill(path)
    return full


@operation("disk.free")
async def free_disk(broker: BrokerUnderTest, _args: Arguments) -> Json:
    """Make room again below all directories. A log directory that has failed stays failed until the
    next start."""
    broker.room.free()
    return None


@operation("links.cut")
async def cut_links(broker: BrokerUnderTest, args: Arguments) -> Json:
    """Drop all requests that this node sends to the nodes at these `ports` from now on."""
    broker.links.cut(int(port) for port in args["ports"])
    return None


@operation("links.heal")
async def heal_links(broker: BrokerUnderTest, args: Arguments) -> Json:
    """Restore this node's links to the nodes at these `ports`, or all of its links."""
    ports = args.get("ports")
    broker.links.heal(None if ports is None else map(int, ports))
    return None


@operation("controller.show")
async def show_controller(broker: BrokerUnderTest, _args: Arguments) -> Json:
    """Return the id of the active controller ("leader") as this node knows it, null if it knows
    none, and its "epoch"."""
    raft = broker.node.controller.raft
    return {"leader": raft.leader_id, "epoch": raft.epoch}


@operation("controller.resign")
async def resign_controller(broker: BrokerUnderTest, _args: Arguments) -> Json:
    """Have this node, the active controller, resign; return the epoch that ends.

    Raises OperationError if it is not the active controller.
    """
    raft = broker.node.controller.raft
    if not raft.is_leader:
        raise OperationError("misuse", "this node is not the active controller any more: ask again")
    epoch = raft.epoch
    raft.resign(epoch)
    return epoch


def _aim_of(api: ApiKey | None, args: Arguments) -> Aim:
    """Return the conditions of a fault as an Aim. It matches requests of nodes if `nodes` is set,
    or if only nodes use the API; otherwise those of clients."""
    return Aim(
        api,
        args.get("topic"),
        args.get("group"),
        args.get("transactional_id"),
        args.get("client_id"),
        bool(args.get("nodes")) or api in ONLY_NODES,
    )


def _undocumented_text(api: ApiKey, error: ErrorCode) -> str:
    """Return the text that this API never has this error, with the errors that it may have."""
    names = ", ".join(known_error.name for known_error in errors_of(api))
    return (
        f"{pascal(api)} never answers with {error.name}, but with {names}; "
        "force=True has it answered all the same"
    )


def error_of(name: str) -> ErrorCode:
    """Return the error of a name such as `NOT_LEADER_OR_FOLLOWER`, in any case. Raises
    OperationError for an unknown name, with a similar one."""
    error = ErrorCode.__members__.get(name.upper())
    if error is None or error is ErrorCode.NONE:
        names = [member for member in ErrorCode.__members__ if member != "NONE"]
        raise OperationError(
            "misuse", f"there is no error {name}{did_you_mean(name.upper(), names)}"
        )
    return error
