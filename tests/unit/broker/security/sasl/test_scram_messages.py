from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.security.sasl.scram_messages import (
    MESSAGE_BYTES_MAX,
    ClientFirst,
    MalformedScram,
    ServerFinal,
    ServerFirst,
    read_client_final,
    read_client_first,
    read_server_final,
    read_server_first,
    written_name,
)

ASCII = st.text(st.characters(min_codepoint=1, max_codepoint=0x7F), min_size=1, max_size=20)


def test_the_clients_first_message() -> None:
    assert read_client_first(b"n,a=b=2C,n=b=2C,r=c!,x=y=z,tokenauth=true") == ClientFirst(
        b"n,a=b=2C,",
        b"n=b=2C,r=c!,x=y=z,tokenauth=true",
        "b=2C",
        "b,",
        "c!",
        True,
    )


@pytest.mark.parametrize(
    ("extensions", "by_token"),
    [
        (b"", False),
        (b",tokenauth=true", True),
        (b",tokenauth=TRUE,x=y", True),
        (b",TOKENAUTH=true", False),
        (b",tokenauth=truer", False),
        (b",x=tokenauth=true", False),
        (b",tokenauth=false", False),
    ],
)
def test_who_logs_in_by_token(extensions: bytes, by_token: bool) -> None:
    assert read_client_first(b"n,,n=a,r=b" + extensions).by_token is by_token


def test_the_clients_last_message() -> None:
    final = read_client_final(b"c=biws,r=abc,x=y,p=cA==")
    assert (final.without_proof, final.channel, final.nonce, final.proof) == (
        b"c=biws,r=abc,x=y",
        b"n,,",
        "abc",
        b"p",
    )


def test_the_servers_messages() -> None:
    assert read_server_first(b"r=abc,s=c2FsdA==,i=4096") == ServerFirst("abc", b"salt", 4096)
    assert read_server_first(b"r=abc,s=,i=1,x=y") == ServerFirst("abc", b"", 1)
    assert read_server_final(b"v=c2FsdA==") == ServerFinal(None, b"salt")
    assert read_server_final(b"e=other-error") == ServerFinal("other-error", b"")


@pytest.mark.parametrize(
    "token",
    [
        b"r=abc,s=c2FsdA==,i=-1",
        b"r=abc,s=c2FsdA==,i=",
        b"r=abc,s=c2FsdA==,i=" + b"9" * 5_000,
        b"r=abc,s=c2FsdA,i=4096",
        b"m=x,r=abc,s=c2FsdA==,i=4096",
        b"v=c2FsdA==",
        b"",
    ],
)
def test_what_is_no_first_message_of_a_server(token: bytes) -> None:
    with pytest.raises(MalformedScram):
        read_server_first(token)


@pytest.mark.parametrize("token", [b"v=c", b"e=", b"e=a=b", b"x=y", b"v=c2FsdA==,", b""])
def test_what_is_no_last_message_of_a_server(token: bytes) -> None:
    with pytest.raises(MalformedScram):
        read_server_final(token)


def test_a_message_has_a_limit() -> None:
    head, tail = b"n,,n=", b",r=abc"
    longest = b"x" * (MESSAGE_BYTES_MAX - len(head + tail))
    assert read_client_first(head + longest + tail).name == longest.decode()
    with pytest.raises(MalformedScram):
        read_client_first(head + longest + b"x" + tail)


@pytest.mark.parametrize("text", [b"A", b"AA", b"AAA", b"A===", b"AAAA=", b"=", b"AA=A", b"AA-_"])
def test_base64_is_whole(text: bytes) -> None:
    with pytest.raises(MalformedScram):
        read_server_final(b"v=" + text)


@given(ASCII, ASCII)
def test_every_name_can_be_written(name: str, authorization_id: str) -> None:
    token = f"n,a={written_name(authorization_id)},n={written_name(name)},r=abc".encode()
    assert read_client_first(token).name == name


@given(st.binary(max_size=100))
def test_garbage_is_malformed(token: bytes) -> None:
    for read in (read_client_first, read_client_final, read_server_first):
        with pytest.raises(MalformedScram):
            read(token)
