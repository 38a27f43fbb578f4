"""What a registry is asked, and what is said where it does not answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.unit.pipeline.columns.avro.fake_registry import FakeRegistry, fake_registry


@pytest.fixture
def served() -> Iterator[FakeRegistry]:
    with fake_registry() as found:
        yield found


def test_schemas_by_id_and_by_subject(served: FakeRegistry) -> None:
    from pipeline.columns.avro.registry import Registry
    from pipeline.errors import PipelineError

    served.register("a%2Fb-value", 7, '"string"')
    asked = Registry(f"{served.url}/")
    assert asked.by_id(7) == '"string"'
    assert asked.by_id(8) is None
    assert asked.latest("a/b-value") == (7, '"string"')
    with pytest.raises(PipelineError, match="has no subject none: name another with --subject"):
        asked.latest("none")


def test_user_and_password_are_sent_and_not_said(served: FakeRegistry) -> None:
    from pipeline.columns.avro.registry import Registry
    from pipeline.errors import PipelineError

    served.answers["/schemas/ids/1"] = 401
    asked = Registry(served.url.replace("http://", "http://ann:p%40ss@"))
    with pytest.raises(PipelineError, match="answers 401 Unauthorized: give http://USER:") as found:
        asked.by_id(1)
    assert "p%40ss" not in str(found.value) and "ann" not in str(found.value)
    assert served.asked == [("/schemas/ids/1", "Basic YW5uOnBAc3M=")]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (500, "answers 500 Internal Server Error$"),
        (b"<html>", "answers as no schema registry does"),
        ([], "answers as no schema registry does"),
        ({"schema": 5}, "answers as no schema registry does"),
        ({"schema": "syntax", "schemaType": "PROTOBUF"}, "schema id 1 is PROTOBUF, not AVRO"),
        ({"schema": "{}", "references": [{}]}, "schema id 1 refers to other subjects"),
    ],
)
def test_another_answer_is_one_line(served: FakeRegistry, answer: object, words: str) -> None:
    from pipeline.columns.avro.registry import Registry
    from pipeline.errors import PipelineError

    served.answers["/schemas/ids/1"] = answer
    with pytest.raises(PipelineError, match=f"^--registry {served.url}.*{words}"):
        Registry(served.url).by_id(1)


def test_a_registry_that_does_not_answer_is_one_line() -> None:
    from pipeline.columns.avro.registry import Registry
    from pipeline.errors import PipelineError

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(PipelineError, match=f"--registry {url} does not answer: timed out"):
            Registry(url, timeout_s=0.05).by_id(1)
    with pytest.raises(PipelineError, match="does not answer: Connection refused"):
        Registry(url).by_id(1)


@pytest.mark.parametrize("url", ["registry:8081", "ftp://r", "http://", "file:///etc/passwd"])
def test_an_address_that_is_none(url: str) -> None:
    from pipeline.columns.avro.registry import Registry
    from pipeline.errors import PipelineError

    with pytest.raises(PipelineError, match="http://HOST:PORT is wanted"):
        Registry(url).check()


def test_a_registry_that_is_away_is_told_from_one_that_refuses(served: FakeRegistry) -> None:
    from pipeline.columns.avro.registry import Registry
    from pipeline.errors import PipelineError, Unreachable

    asked = Registry(served.url)
    for answer, is_away in ((500, True), (503, True), (401, False), (b"<html>", False)):
        served.answers["/schemas/ids/1"] = answer
        with pytest.raises(PipelineError) as raised:
            asked.by_id(1)
        assert isinstance(raised.value, Unreachable) == is_away, answer
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(Unreachable, match="does not answer: Connection refused"):
            Registry(f"http://127.0.0.1:{unused.getsockname()[1]}").by_id(1)
