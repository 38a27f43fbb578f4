"""Faults on demand: what `ottla.testing.faults` asks for.

A fault is known by its number from `fault.add` until `fault.lift`.
"""

from __future__ import annotations

from difflib import get_close_matches

from broker.testing.control import Arguments, Refused, operation
from broker.testing.faults.rule import Aim, Deed, Rule
from broker.testing.served import Served
from ottla.testing.frames import Json
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode


@operation("fault.add")
async def add(broker: Served, args: Arguments) -> Json:
    """A fault from now on: `deed`, `api`, and what narrows them; its number."""
    deed = Deed(args["deed"])
    error = ErrorCode.NONE
    if deed is Deed.ERROR:
        error = error_of(args["error"])
    aim = Aim(
        None if args.get("api") is None else api_of(args["api"]),
        args.get("topic"),
        args.get("group"),
        args.get("transactional_id"),
        args.get("client_id"),
        bool(args.get("nodes")),
    )
    rule = Rule(
        aim,
        deed,
        error,
        float(args.get("delay_ms") or 0),
        float(args.get("cut_at", 0.5)),
        int(args.get("after") or 0),
        args.get("times"),
        float(args.get("probability", 1.0)),
        int(args.get("seed") or 0),
    )
    return broker.faults.add(rule)


@operation("fault.show")
async def show(broker: Served, args: Arguments) -> Json:
    """How many requests a fault has seen and met; null where it was lifted."""
    rule = broker.faults.rule(args["number"])
    return None if rule is None else {"seen": rule.seen, "met": rule.met, "over": rule.is_over}


@operation("fault.lift")
async def lift(broker: Served, args: Arguments) -> Json:
    """A fault is no more."""
    broker.faults.lift(args["number"])
    return None


@operation("fault.clear")
async def clear(broker: Served, _args: Arguments) -> Json:
    """No fault any more."""
    broker.faults.clear()
    return None


@operation("connections.close")
async def close_connections(broker: Served, _args: Arguments) -> Json:
    """Close all connections of clients now; how many there were."""
    sockets = broker.server.sockets
    if sockets is None:
        return 0
    count = sockets.connection_count
    for processor in sockets.processors:
        processor.abort("a test has asked for that")
    return count


def api_of(name: str) -> ApiKey:
    """An API by the name of its request: `Produce`, or `PRODUCE`."""
    known = {key.name.replace("_", "").lower(): key for key in ApiKey}
    found = known.get(name.replace("_", "").lower())
    if found is None:
        raise Refused(f"there is no API {name}{_meant(name, [_shown(key) for key in ApiKey])}")
    return found


def error_of(name: str) -> ErrorCode:
    """An error by its name: `NOT_LEADER_OR_FOLLOWER`."""
    error = ErrorCode.__members__.get(name.upper())
    if error is None or error is ErrorCode.NONE:
        names = [one for one in ErrorCode.__members__ if one != "NONE"]
        raise Refused(f"there is no error {name}{_meant(name.upper(), names)}")
    return error


def _shown(key: ApiKey) -> str:
    return key.name.title().replace("_", "")


def _meant(name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, 1)
    return f"; did you mean {close[0]}?" if close else ""
