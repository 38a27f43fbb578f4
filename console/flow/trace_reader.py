"""A reader of the trace socket in the log directory of a broker on this machine.

Each call opens and closes its own connection. A broker bounds its traces, so a longer answer than
ANSWER_MAX_BYTES is an error. `broker.process.trace_socket` describes the format.
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
"""The reason for a log directory without a trace socket."""

GONE = "the broker does not run any more"
"""The reason for a trace socket on which no process listens."""


class NoTraces(Exception):
    """The node sends no traces now. `str()` is the reason in one line."""


class NodeTraces(NamedTuple):
    """A node's answer: its new traces, and its new copies of leaders' records."""

    node_id: int
    revision: int
    """The number to pass as `since` in the next call."""
    traces: list[Json]
    copies: list[Json]


def ask(folder: str, since: int = 0) -> NodeTraces:
    """Return what the node of a log directory recorded after the revision `since`.

    0 stands for everything that it keeps. Raises NoTraces.
    """
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
        return _answer([json.loads(line) for line in lines])
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


def _answer(lines: list[Json]) -> NodeTraces:
    node, rest = lines[0], lines[1:]
    traces = [line for line in rest if line["kind"] == "request"]
    copies = [line for line in rest if line["kind"] == "copy"]
    return NodeTraces(int(node["node_id"]), int(node["revision"]), traces, copies)
