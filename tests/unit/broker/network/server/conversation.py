"""A connection's core in a conversation without sockets, told what happens by commands of one line.

Requests are words: `2`, `big*5000000` (so long), `2[:3]` (a part of its bytes, its size included).
What is called "now…" is answered while it is handled, "nowfile…" by parts, "nowfull…" by the last
handler that was free; "bye…" is answered by leaving, "lost…" loses the connection, "again…" is a
login that is refused. Before it is known who is there, a frame is checked: "good…" is enough,
"bad…" is refused, "ask…" has to be asked about, and anything else is answered with itself.

    open login limit=1000 memory=5000    a listener with SASL; bytes of a frame; of all requests
    bytes 1 now2[:6] wrong=ffffffff      the peer sends
    mark in progress                     a request that was tried at once is answered later
    answered 1, throttled 1              the answer to the request under way, or `nothing`
    unmuted                              the throttled client has waited long enough
    told good                            the answer to what the authenticator had asked
    said wrong                           what it says behind a refusal
    slow, quick, drained                 the peer takes no answers; does so; has taken all
    others, ours, full, free             the turn of the loop; the room of the request channel
    turn, room                           the turn has come; the channel says that it has room
    hold 5000, return 5000               bytes of other connections' requests
    wait 5000                            a frame of another connection waits for so many
    idle                                 memory is short: what is kept for the next frame goes
    seconds 3                            time passes
    leave, end of input, abort, lost     the node stops; the peer ends; a failure; it is gone
    show                                 what is held, waits, or is due, where a frame has 10 s

Bytes wait at the socket while the connection does not read, as they would; and others receive into
the same scratch buffer whenever it has nothing to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from broker.network.limits.request_memory import RequestMemory
from broker.network.server.connection_state import (
    AUTHENTICATING,
    CLOSING,
    READY,
    ConnectionCore,
    ShellStep,
)
from protocol.errors import ProtocolError
from protocol.frames.framing import FrameReader
from tests.received_frames import reserved_bytes
from tests.unit.broker.network.conftest import framed

_TOKEN = re.compile(r"(?P<name>\w+)(\*(?P<size>\d+))?(\[(?P<start>\d*):(?P<end>\d*)\])?")
SCRATCH_BYTES = 128 * 1024
FRAME_TIMEOUT_S = 10.0


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
    """A request, or an answer, as it is called in a transcript."""
    whole = payload[0] if isinstance(payload, tuple) else payload
    return bytes(whole[:100]).decode().rstrip(".")


class Conversation:
    """The core of a connection and its memory, driven by the commands of a transcript."""

    def __init__(self) -> None:
        self._scratch = bytearray(SCRATCH_BYTES)
        self._now_s = 0.0
        self._kernel = b""  # what the peer has sent and nobody has read
        self._slow = False
        self._soon: list[Callable[[], None]] = []
        self._effects: list[str] = []
        self._open()

    def run(self, command: str) -> tuple[str, list[str]]:
        """Carry one line out. Return the state that it leaves, and what is done."""
        self._effects = []
        for part in command.split("; "):
            self._tell(part)
        self._go_on()
        return self._core.state.name, self._effects

    def _open(self, *options: str) -> None:
        given = dict(option.split("=") for option in options if "=" in option)
        limit = int(given.get("limit", 100_000_000))
        held = int(given.get("memory", 1_000_000_000))
        self._channel = Channel()
        self._memory = RequestMemory(held, held, self._soon.append)
        self._reader = FrameReader(limit, self._scratch, self._memory)
        state = AUTHENTICATING if "login" in options else READY
        self._core = ConnectionCore(self._reader, self._channel, state)  # type: ignore[arg-type]

    # --- what happens --------------------------------------------------------------------------

    def _tell(self, what: str) -> None:
        verb, *words = what.split()
        if verb == "open":
            self._open(*words)
        elif verb == "bytes":
            self._kernel += b"".join(map(bytes_of, words))
        elif verb in ("answered", "throttled"):
            parts = None if words == ["nothing"] else words[0].encode()
            self._note_vain(self._core.answered(parts, verb == "throttled"))
        elif verb == "said":
            self._core.add_login_answer(words[0].encode())
        elif verb == "told":
            if self._note_vain(self._core.login_checked()):
                self._check(words[0])
        elif verb in ("slow", "quick"):
            self._slow = verb == "slow"
        elif verb in ("others", "ours"):
            self._channel.turn_is_over = verb == "others"
        elif verb == "hold":
            self._memory.hold(int(words[0]))
        elif verb == "wait":
            self._memory.wait(int(words[0]), lambda: self._effects.append("another has room"))
        elif verb == "return":
            self._memory.free(int(words[0]))
        elif verb in ("full", "free"):
            self._channel.full = verb == "full"
        elif verb == "idle":
            self._reader.release()
        elif verb == "seconds":
            self._now_s += float(words[0])
        elif verb == "show":
            self._show()
        elif verb == "abort":
            self._note_vain(self._core.abort())
        else:
            getattr(self._core, what.replace(" ", "_"))()

    def _note_vain(self, done: bool) -> bool:
        if not done:
            self._effects.append("in vain")
        return done

    def _show(self) -> None:
        until_s = self._core.incomplete_until(self._now_s, FRAME_TIMEOUT_S)
        facts = {
            "at the socket": len(self._kernel),
            "held": self._memory.held_bytes,
            "kept by the reader": reserved_bytes(self._reader),
        }
        shown = [f"{count} {what}" for what, count in facts.items() if count]
        shown += [] if until_s is None else [f"due at {until_s:g} s"]
        self._effects += shown or ["nothing"]

    # --- what the shell does, and the transport after it ---------------------------------------

    def _go_on(self) -> None:
        self._pull()
        while self._soon or (self._kernel and not self._core.paused):
            if self._soon:
                self._soon.pop(0)()
            else:
                room = self._reader.get_buffer()
                count = min(len(room), len(self._kernel))
                room[:count], self._kernel = self._kernel[:count], self._kernel[count:]
                self._core.received(count)
            self._pull()

    def _pull(self) -> None:
        while True:
            try:
                todo = self._core.next()
            except ProtocolError as error:
                self._effects.append(f"error {error}")
                self._core.abort()
                continue
            if todo is None:
                self._scratch[:] = b"x" * SCRATCH_BYTES
                if self._core.state is CLOSING:
                    self._memory.forget(self._core.memory_granted)
                return
            if isinstance(todo, ShellStep):
                self._do(todo)
            elif self._core.state is AUTHENTICATING:
                self._note_frame("check", name_of(todo))
                self._check(name_of(todo))
            else:
                self._handle(todo)

    def _do(self, step: ShellStep) -> None:
        words = [step.name.lower().replace("_", " ")]
        if step is ShellStep.SEND:
            words += map(name_of, self._core.take_answers())
            if self._slow:
                self._core.blocked()
        elif step is ShellStep.AWAIT_REST:
            self._core.rest_awaited(self._now_s)
        elif step is ShellStep.AWAIT_MEMORY:
            self._memory.wait(self._reader.wanted_bytes, self._core.memory_granted)
        self._effects.append(" ".join(words))
        assert len(self._effects) < 100, f"it never rests: {self._effects[-4:]}"

    def _handle(self, frame: memoryview) -> None:
        name = name_of(frame)
        self._note_frame("handle", name)
        if name.startswith("now"):
            whole = bytes(frame)
            self._channel.full = self._channel.full or name.startswith("nowfull")
            self._core.answered((whole,) if name.startswith("nowfile") else whole)
        elif name.startswith("again"):
            self._core.refused()
        elif name.startswith("bye"):
            self._core.leave()
            self._core.answered(None)
        elif name.startswith("lost"):
            self._core.lost()

    def _check(self, name: str) -> None:
        if name.startswith("bad"):
            self._core.refused()
        elif name.startswith("ask"):
            self._core.login_waits()
        else:
            self._core.add_login_answer(name.encode())
            if name.startswith("good"):
                self._core.authenticated()

    def _note_frame(self, verb: str, name: str) -> None:
        """Note what is done with a frame, beside what was just done so with those before."""
        if self._effects and self._effects[-1].startswith(f"{verb} "):
            self._effects[-1] += f" {name}"
        else:
            self._effects.append(f"{verb} {name}")
