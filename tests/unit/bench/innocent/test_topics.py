"""Topics by one request; what is refused is said."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bench.innocent.topics import make_topics


class Answering:
    """Answers CreateTopics."""

    def __init__(self, code: int) -> None:
        self.code, self.names = code, list[str]()

    def ask(self, request: Any, version: int) -> Any:
        self.names += [topic.name for topic in request.topics]
        return SimpleNamespace(topics=[SimpleNamespace(error_code=self.code)])


def test_all_names_go_in_one_request() -> None:
    wire = Answering(0)
    make_topics(wire, ["a", "b"])  # type: ignore[arg-type]
    assert wire.names == ["a", "b"]


def test_a_refusal_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="TOPIC_ALREADY_EXISTS"):
        make_topics(Answering(36), ["a"])  # type: ignore[arg-type]
