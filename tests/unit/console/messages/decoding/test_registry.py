"""A registry is asked once for each schema, lightly, and its login stays with it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from broker.config.start_error import StartError
from console.messages.decoding import registry as registry_file
from console.messages.decoding.registry import (
    ALONE_S,
    ANSWER_BYTES_MAX,
    REQUESTS_AT_ONCE,
    UNKNOWN_S,
    Registry,
    Schema,
)
from console.messages.decoding.wire import Undecodable
from tests.unit.console.messages.decoding.one_registry import OneRegistry, registry


@pytest.fixture
def server() -> Iterator[OneRegistry]:
    with registry() as one:
        yield one


class Clock:
    """Moves when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_schema_is_asked_for_once(server: OneRegistry) -> None:
    server.answers["/schemas/ids/7"] = (200, {"schema": '"string"'})
    one = Registry(server.url)
    assert one.schema(7) == one.schema(7) == Schema("AVRO", '"string"')
    assert server.asked == ["/schemas/ids/7?format=serialized"]


def test_its_references_come_along_each_after_what_it_needs(server: OneRegistry) -> None:
    def refers(*subjects: str) -> list[dict[str, object]]:
        return [{"name": one, "subject": one, "version": 1} for one in subjects]

    server.answers["/schemas/ids/7"] = (
        200,
        {"schemaType": "PROTOBUF", "schema": "c", "references": refers("b/x", "a")},
    )
    server.answers["/subjects/b%2Fx/versions/1"] = (200, {"schema": "b", "references": refers("a")})
    server.answers["/subjects/a/versions/1"] = (200, {"schema": "a"})
    assert Registry(server.url).schema(7) == Schema("PROTOBUF", "c", ("a", "b"))
    assert len(server.asked) == 3


def test_references_that_are_a_circle_or_none(server: OneRegistry) -> None:
    refers = [{"name": "a", "subject": "a", "version": 1}]
    server.answers["/schemas/ids/7"] = (200, {"schema": "c", "references": refers})
    server.answers["/subjects/a/versions/1"] = (200, {"schema": "a", "references": refers})
    assert Registry(server.url).schema(7).references == ("a",)
    for wrong in ("a", [1], [{"subject": "a"}], [{"subject": "a", "version": "x"}]):
        server.answers["/schemas/ids/7"] = (200, {"schema": "c", "references": wrong})
        with pytest.raises(Undecodable, match="invalid references"):
            Registry(server.url).schema(7)


def test_what_it_does_not_know_is_asked_again_after_a_while(server: OneRegistry) -> None:
    clock = Clock()
    one = Registry(server.url, clock=clock)
    for _ in range(3):
        with pytest.raises(Undecodable, match="the registry has no schema 7"):
            one.schema(7)
    assert len(server.asked) == 1
    server.answers["/schemas/ids/7"] = (200, {"schema": '"string"'})
    clock.now = UNKNOWN_S + 1
    assert one.schema(7).text == '"string"'


def test_one_that_does_not_answer_is_let_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with registry() as gone:
        url = gone.url
    clock = Clock()
    one = Registry(url.replace("//", "//user:secret@"), clock=clock)
    tries = []
    really = Registry._answer
    monkeypatch.setattr(
        registry_file.Registry,
        "_answer",
        lambda self, path: tries.append(path) or really(self, path),
    )
    for schema_id in range(5):
        with pytest.raises(Undecodable, match="does not answer") as failed:
            one.schema(schema_id)
        assert "secret" not in str(failed.value)
    assert len(tries) == 1
    clock.now = ALONE_S + 1
    with pytest.raises(Undecodable, match="does not answer"):
        one.schema(1)
    assert len(tries) == 2


def test_the_login_is_sent_and_never_told(server: OneRegistry) -> None:
    server.answers["/base/schemas/ids/7"] = (401, {})
    one = Registry(server.url.replace("//", "//us%40er:pass@") + "/base/")
    with pytest.raises(Undecodable, match="rejects the console's login with status 401") as failed:
        one.schema(7)
    assert server.logins == ["Basic dXNAZXI6cGFzcw=="]
    assert "pass" not in str(failed.value) + one.place


def test_a_slow_id_holds_up_no_other(server: OneRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    for schema_id in (1, 2, 3):
        server.answers[f"/schemas/ids/{schema_id}"] = (200, {"schema": f'"{schema_id}"'})
    one = Registry(server.url)
    one.schema(1)
    is_asked, may_answer = Event(), Event()
    really = Registry._answer

    def slow(self: Registry, path: str) -> tuple[int, bytes]:
        if "/ids/2?" in path:
            is_asked.set()
            assert may_answer.wait(60)
        return really(self, path)

    monkeypatch.setattr(Registry, "_answer", slow)
    with ThreadPoolExecutor() as threads:
        waiting = [threads.submit(one.schema, 2) for _ in range(3)]
        assert is_asked.wait(60)
        assert one.schema(1).text == '"1"', "a known id is answered at once"
        assert one.schema(3).text == '"3"', "another id is asked for beside it"
        may_answer.set()
        assert {done.result(60).text for done in waiting} == {'"2"'}
    asked = [path.partition("?")[0] for path in server.asked]
    assert asked.count("/schemas/ids/2") == 1, "one request for an id"


def test_so_many_requests_at_once(server: OneRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Registry(server.url)
    running, most = [], []
    all_begun = Event()

    def counted(self: Registry, path: str) -> tuple[int, bytes]:
        running.append(path)
        most.append(len(running))
        if len(running) == REQUESTS_AT_ONCE:
            all_begun.set()
        assert all_begun.wait(60)
        running.remove(path)
        return 200, b'{"schema": "s"}'

    monkeypatch.setattr(Registry, "_answer", counted)
    with ThreadPoolExecutor(3 * REQUESTS_AT_ONCE) as threads:
        list(threads.map(one.schema, range(1, 3 * REQUESTS_AT_ONCE + 1)))
    assert max(most) == REQUESTS_AT_ONCE


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"<html>"),
        (200, [1]),
        (200, {"schema": 7}),
        (200, {"schemaType": "THRIFT", "schema": "x"}),
        (200, b'{"schema": "' + b"x" * ANSWER_BYTES_MAX + b'"}'),
        (302, {}),
        (500, {}),
    ],
    ids=["page", "list", "number", "thrift", "huge", "moved", "error"],
)
def test_answers_that_are_no_schema(answer: tuple[int, object], server: OneRegistry) -> None:
    server.answers["/schemas/ids/7"] = answer
    with pytest.raises(Undecodable, match="answers with|returned no schema"):
        Registry(server.url).schema(7)
    assert len(server.asked) == 1


@pytest.mark.parametrize("url", ["localhost:8081", "ftp://x", "http://", "http://x:port", ""])
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(StartError, match="--registry must be a URL"):
        Registry(url)
