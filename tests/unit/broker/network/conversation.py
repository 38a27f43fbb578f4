"""A connection's core in a conversation without sockets: lines in, the same lines out.

A line with `>>` tells the core what happens, one with `<<` is what it wants done:

    >> bytes now1 2         requests, whole or in parts: `2[:3]`, `big*5000000`, `wrong=ffffffff`
    << handle now1          what is called "now…" is answered while it is handled
    << handle 2
    << send now1
    >> answered 2           or `answered nothing`; `throttled 2`: it has to wait, until `unmuted`
    << send 2

What is called "nowfile…" is answered by parts, "bye…" by leaving, and "lost…" loses the connection.
Before it is known who is there, a frame is checked: "good…" is enough, "bad…" is refused, and
anything else is answered with itself.
`slow` and `quick` say whether the peer takes answers, `full` and `free` whether the request channel
has room, `others` and `ours` which turn of the loop it is. Bytes wait in the kernel while the
connection does not read, as they would; and others receive into the same scratch buffer whenever it
has nothing to do.
"""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Any

from broker.network.connection_state import (
    AUTHENTICATING,
    CLOSING,
    READY,
    ConnectionCore,
    State,
    Step,
)
from protocol.errors import ProtocolError
from protocol.frames.frame_memory import UNCOUNTED, Memory
from protocol.frames.framing import FrameReader
from tests.unit.broker.network.conftest import framed

_TOKEN = re.compile(r"(?P<name>\w+)(\*(?P<size>\d+))?(\[(?P<start>\d*):(?P<end>\d*)\])?")
SCRATCH_BYTES = 128 * 1024


class Channel:
    """The request channel, as the core looks at it."""

    full = False
    turn_is_over = False


def bytes_of(token: str) -> bytes:
    """What a word behind `bytes` stands for."""
    if token.startswith("wrong="):
        return bytes.fromhex(token.removeprefix("wrong="))
    match = _TOKEN.fullmatch(token)
    assert match is not None, token
    payload = match["name"].encode()
    if match["size"]:
        payload = payload.ljust(int(match["size"]), b".")
    return framed(payload)[int(match["start"] or 0) : int(match["end"]) if match["end"] else None]


def name_of(payload: Any) -> str:
    """A request, or an answer, as it is called in a script."""
    whole = payload[0] if isinstance(payload, tuple) else payload
    return bytes(whole[:100]).decode().rstrip(".")


class Conversation:
    """One connection. To be called with a script, several times if a test likes."""

    def __init__(
        self, memory: Memory = UNCOUNTED, max_bytes: int = 100_000_000, state: State = READY
    ) -> None:
        self.channel = Channel()
        self._scratch = bytearray(SCRATCH_BYTES)
        self.reader = FrameReader(max_bytes, self._scratch, memory)
        self.core = ConnectionCore(self.reader, self.channel, state)
        self.now_s = 0.0
        self.received_bytes = 0
        self.kernel = b""
        """Bytes that the peer has sent and that have not been read."""
        self._slow = False
        self._lines: list[str] = []

    def __call__(self, script: str) -> None:
        """Play it: each output has to stand where it comes."""
        wanted = [line.strip() for line in dedent(script).strip().splitlines()]
        self._lines = []
        for line in wanted:
            if line.startswith(">>"):
                self._lines.append(line)
                self._tell(line.removeprefix(">>").strip())
                self._go_on()
        assert self._lines == wanted

    @property
    def state(self) -> str:
        """The name of the core's state."""
        return self.core.state.name

    def _tell(self, what: str) -> None:
        verb, _, rest = what.partition(" ")
        if verb == "bytes":
            self.kernel += b"".join(map(bytes_of, rest.split()))
        elif verb == "answered":
            self.core.answered(None if rest == "nothing" else rest.encode())
        elif verb == "throttled":
            self.core.answered(None if rest == "nothing" else rest.encode(), True)
        elif verb == "said":
            self.core.said(rest.encode())
        elif verb in ("slow", "quick"):
            self._slow = verb == "slow"
        elif verb in ("full", "free"):
            self.channel.full = verb == "full"
        elif verb in ("others", "ours"):
            self.channel.turn_is_over = verb == "others"
        elif verb == "seconds":
            self.now_s += float(rest)
        else:
            getattr(self.core, what.replace(" ", "_"))()

    def _go_on(self) -> None:
        """What the shell does, and the transport after it."""
        self._pull()
        while self.kernel and not self.core.paused and self.core.state is not CLOSING:
            room = self.reader.get_buffer()
            count = min(len(room), len(self.kernel))
            room[:count], self.kernel = self.kernel[:count], self.kernel[count:]
            self.received_bytes += count
            self.core.received(count)
            self._pull()

    def _pull(self) -> None:
        while True:
            try:
                todo = self.core.next()
            except ProtocolError as error:
                self._lines.append(f"<< error {error}")
                self.core.abort()
                continue
            if todo is None:
                self._scratch[:] = b"x" * SCRATCH_BYTES
                return
            self._do(todo)

    def _do(self, todo: Step | memoryview) -> None:
        if isinstance(todo, memoryview):
            name = name_of(todo)
            if self.core.state is AUTHENTICATING:
                self._check(name)
                return
            self._lines.append(f"<< handle {name}")
            if name.startswith("now"):
                whole = bytes(todo)
                self.core.answered((whole,) if name.startswith("nowfile") else whole)
            elif name.startswith("bad"):
                self.core.refused()
            elif name.startswith("bye"):
                self.core.leave()
                self.core.answered(None)
            elif name.startswith("lost"):
                self.core.lost()
            return
        words = [todo.name.lower().replace("_", " ")]
        if todo is Step.SEND:
            words += map(name_of, self.core.take_answers())
            if self._slow:
                self.core.blocked()
        elif todo is Step.AWAIT_REST:
            self.core.rest_awaited(self.now_s)
        self._lines.append(f"<< {' '.join(words)}")

    def _check(self, name: str) -> None:
        self._lines.append(f"<< check {name}")
        if name.startswith("bad"):
            self.core.refused()
            return
        self.core.said(name.encode())
        if name.startswith("good"):
            self.core.authenticated()
