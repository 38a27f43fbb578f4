"""What goes wrong in a simulated cluster as a scenario sees it, and a seed that fails."""

from __future__ import annotations

from ottla.testing.errors import Misuse, OttlaError


class OperationFailed(OttlaError):
    """What a client asked for was not done, or nobody knows whether it was.

    `error` is Kafka's name ("NOT_ENOUGH_REPLICAS"), "TIMED_OUT" where no try succeeded within the
    time of the operation, or "NO_ANSWER" where a `request` was not answered. `unsure`: it may have
    been done all the same, or may be yet.
    """

    def __init__(self, error: str, text: str, *, unsure: bool) -> None:
        super().__init__(text)
        self.error = error
        self.unsure = unsure


class SimulationFailed(AssertionError):
    """A seed failed. The text says which and why, what happened, and how to replay it.

    `seed` is that seed, `why` one line, `timeline` what happened: a line for each fault and
    operation, with the second of virtual time.
    """

    def __init__(self, seed: int, why: str, timeline: list[str], replay: str) -> None:
        self.seed = seed
        self.why = why
        self.timeline = timeline
        lines = "\n".join(f"  {line}" for line in timeline)
        super().__init__(f"seed {seed}: {why}\n  replay: {replay}\n{lines}")


def error_of(told: dict[str, object]) -> OttlaError:
    """The error of an operation, as the channel has it."""
    text = str(told["text"])
    if told["error"] == "MISUSE":
        return Misuse(text)
    return OperationFailed(str(told["error"]), text, unsure=bool(told["unsure"]))
