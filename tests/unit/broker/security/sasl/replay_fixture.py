"""A recorded conversation of a login, gone through again with our authenticator."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from broker.security.sasl.authenticator import SaslAuthenticator, SaslFailed
from tests.golden.sasl_talk import CLOSED

START_MS = 1_700_000_000_000
STEP_MS = 5

MakeCore = Callable[[Callable[[memoryview], bytes]], SaslAuthenticator]
"""Of what answers ApiVersions."""


def nonces_of(steps: list[dict[str, Any]]) -> Iterator[str]:
    """What the recorded server added to each nonce of the client."""
    for step in steps:
        sent = bytes.fromhex(step.get("sent", ""))
        answer = step.get("answer", CLOSED)
        found = re.search(rb"r=([!-+\--~]+),s=", b"" if answer == CLOSED else bytes.fromhex(answer))
        if found:
            asked = re.search(rb",r=([!-+\--~]+)", sent)
            assert asked
            yield found[1].removeprefix(asked[1]).decode()


class Replay:
    """One conversation."""

    def __init__(self, steps: list[dict[str, Any]], make_core: MakeCore) -> None:
        self.steps = steps
        self.recorded = b""
        self.core = make_core(lambda _frame: self.recorded)
        self.now_ms = START_MS

    def run(self) -> None:
        for number, step in enumerate(self.steps):
            self.now_ms += step.get("wait_ms", STEP_MS)
            if "wait_ms" in step:
                continue
            told, ended = self._tell(step)
            assert told == (None if step["answer"] == CLOSED else step["answer"]), number
            if told is None or step.get("then") == CLOSED:
                assert ended, number
            if ended:
                if step["answer"] != CLOSED and "then" not in step:
                    assert self.steps[number + 1]["answer"] == CLOSED, number
                return
            assert step.get("then", "open") == "open", number

    def _tell(self, step: dict[str, Any]) -> tuple[str | None, bool]:
        """The answer, and whether the connection ends."""
        sent = bytes.fromhex(step["sent"])
        self.recorded = b"" if step["answer"] == CLOSED else bytes.fromhex(step["answer"])
        frame = memoryview(sent)
        core = self.core
        try:
            if step.get("raw"):
                raise core.too_long(int.from_bytes(sent, signed=True))
            if core.takes(frame, self.now_ms):
                return core.received(frame, self.now_ms).hex(), False
        except SaslFailed as failed:
            if step.get("late"):
                assert failed.delayed
            return None if failed.answer is None else failed.answer.hex(), True
        if core.expired(self.now_ms):
            return None, True
        # The broker's own APIs, which are tested elsewhere, answer.
        return self.recorded.hex(), False
