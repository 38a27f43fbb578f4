"""What has something to read, whatever its descriptor's number."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Iterator

import pytest

from broker.network.readiness import readable

SELECT_MAX = 1024
"""`select` takes no descriptor from here on."""


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_nothing_comes_in_time(pair: tuple[socket.socket, socket.socket]) -> None:
    assert readable([pair[0]], 0) == []
    assert readable([pair[0]], 0.01) == []


def test_only_those_with_something_to_read(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    theirs.send(b"x")
    assert readable([theirs, ours], 5) == [ours]


def test_an_end_is_something_to_read(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    theirs.close()
    assert readable([ours], 5) == [ours]


def test_a_descriptors_number_may_be_large(pair: tuple[socket.socket, socket.socket]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = SELECT_MAX + 64
    if soft < wanted:
        assert hard >= wanted
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    ours, theirs = pair
    os.dup2(ours.fileno(), SELECT_MAX + 1)
    with socket.socket(fileno=SELECT_MAX + 1) as large:
        theirs.send(b"x")
        assert readable([large], 5) == [large]
        assert readable([SELECT_MAX + 1], 5) == [SELECT_MAX + 1]


@pytest.mark.parametrize("path", ["/dev/null", __file__])
def test_a_file_never_waits(path: str) -> None:
    with open(path, "rb") as file:
        assert readable([file], 5) == [file]
