"""What a broker on this machine tells of its traces, by the socket in its log directory.

Asks, reads and hangs up; keeps nothing. A node's answer is bounded, since its traces are; what is
longer is no answer. See `broker.process.trace_socket` for what is said.
"""

from __future__ import annotations

import json
import socket
from typing import NamedTuple

from broker.network.socket_calls import address_in
from broker.process.trace_socket import SOCKET_NAME
from console.flow.traces import Json

TIMEOUT_S = 3.0
ANSWER_MAX_BYTES = 32 * 1024 * 1024
_PIECE_BYTES = 256 * 1024

HOW_TO = (
    "the broker does not run, or its traces are off: start it by ottla serve --console, or with "
    "ottla.trace.requests=true"
)

GONE = "the broker does not run any more"


class NoTraces(Exception):
    """That node tells of none now. `str()` is one line."""


class Told(NamedTuple):
    """A node's answer."""

    node_id: int
    revision: int
    """To be asked for what is newer."""
    traces: list[Json]
    copies: list[Json]


def ask(folder: str, since: int = 0) -> Told:
    """What the node of that log directory has to tell that is newer. Raises NoTraces."""
    try:
        lines = _lines(folder, since)
    except FileNotFoundError:
        raise NoTraces(HOW_TO) from None
    except ConnectionRefusedError:
        raise NoTraces(GONE) from None
    except PermissionError:
        raise NoTraces("only the broker's user can open its trace socket") from None
    except OSError as error:
        raise NoTraces(f"its trace socket does not answer: {error.strerror or error}") from error
    try:
        return _told([json.loads(line) for line in lines])
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise NoTraces("its trace socket sent an invalid answer") from error


def _lines(folder: str, since: int) -> list[bytes]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(TIMEOUT_S)
        with address_in(folder, SOCKET_NAME) as address:
            sock.connect(address)
        sock.sendall(json.dumps({"since": since}).encode() + b"\n")
        data = bytearray()
        while piece := sock.recv(_PIECE_BYTES):
            data += piece
            if len(data) > ANSWER_MAX_BYTES:
                raise OSError("the answer is too large")
    return bytes(data).splitlines()


def _told(told: list[Json]) -> Told:
    node, rest = told[0], told[1:]
    traces = [one for one in rest if one["kind"] == "request"]
    copies = [one for one in rest if one["kind"] == "copy"]
    return Told(int(node["node_id"]), int(node["revision"]), traces, copies)
