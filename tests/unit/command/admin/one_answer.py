"""What stands for a cluster that gives one answer, whatever it is asked."""

from __future__ import annotations

from typing import Any

from protocol.errors import ErrorCode

DENIED = int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


class Cluster:
    """Gives one answer; what it was asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    def __call__(self, request: Any, kind: type) -> Any:
        self.asked.append(request)
        assert isinstance(self.answer, kind)
        return self.answer
