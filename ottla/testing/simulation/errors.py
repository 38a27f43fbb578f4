"""The exceptions of simulated clusters: failed operations of clients, and seeds that fail."""

from __future__ import annotations

from ottla.testing.errors import Misuse, OttlaError


class OperationFailed(OttlaError):
    """An operation of a client failed, or its outcome is unknown.

    `error` is Kafka's name ("NOT_ENOUGH_REPLICAS"), "TIMED_OUT" if no attempt succeeded within the
    operation's time-out, or "NO_ANSWER" if a `request` was not answered. `unsure`: the operation
    may have happened all the same, or may still happen.
    """

    def __init__(self, error: str, text: str, *, unsure: bool) -> None:
        super().__init__(text)
        self.error = error
        self.unsure = unsure


class SimulationFailed(AssertionError):
    """A seed failed. The text says which seed and why, what happened, and how to replay it.

    `why` is one line. `timeline` has a line for each fault and operation, with its second of
    virtual time.
    """

    def __init__(self, seed: int, why: str, timeline: list[str], replay: str) -> None:
        self.seed = seed
        self.why = why
        self.timeline = timeline
        lines = "\n".join(f"  {line}" for line in timeline)
        super().__init__(f"seed {seed}: {why}\n  replay: {replay}\n{lines}")


def error_of(values: dict[str, object]) -> OttlaError:
    """Return the error that an operation's answer describes as a dict: Misuse, or
    OperationFailed."""
    text = str(values["text"])
    if values["error"] == "MISUSE":
        return Misuse(text)
    return OperationFailed(str(values["error"]), text, unsure=bool(values["unsure"]))
