"""Operations of `client.core`, driven by a script: no broker, and time that only waits move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from client.core.operation import Attempts, NoAnswer, RequestStep, Steps


class Driver:
    """Answers from a script; an exception is thrown into the operation."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[RequestStep] = []
        self.now_s = 0.0

    def attempts(self, within_s: float = 1.0, **options: Any) -> Attempts:
        """Of one operation, with 0.1 s between two tries."""
        return Attempts(lambda: self.now_s, within_s, lambda: 0.1, **options)

    def run(self, steps: Steps[Any]) -> Any:
        """Do the operation; its result."""
        try:
            step = next(steps)
            while True:
                if not isinstance(step, RequestStep):
                    self.now_s += step
                    step = next(steps)
                    continue
                self.asked.append(step)
                answer = self.answers.pop(0)
                is_lost = isinstance(answer, Exception)
                step = steps.throw(answer) if is_lost else steps.send(answer)
        except StopIteration as end:
            return end.value


def silence(*, was_sent: bool) -> NoAnswer:
    """A broker that does not answer."""
    return NoAnswer("nobody there", was_sent=was_sent)


def names(
    asked: Sequence[RequestStep], of: Callable[[RequestStep], Any] = lambda one: one.to
) -> list[Any]:
    """Of each request its name, and whom it went to."""
    return [(type(one.request).__name__, of(one)) for one in asked]
