from __future__ import annotations

from broker.requests.context import LastClient


def test_the_header_of_who_asked_last_has_the_size_of_its_client_id() -> None:
    last = LastClient()
    last.keep("User:a", b"\x00\x02me", identity := object())
    frame = memoryview(b"\x00\x00\x00\x09" + bytes(4) + b"\x00\x02me and more")
    assert last.header(frame) == (9, b"\x00\x02me")
    assert (last.size, last.principal, last.identity) == (12, "User:a", identity)
