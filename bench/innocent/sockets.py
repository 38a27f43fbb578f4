"""Loads of many connections: a storm of them, and readers that stop in the middle of an answer."""

from __future__ import annotations

import errno
import select
import socket

from bench.idle import API_VERSIONS_FRAME
from bench.innocent.told import Told
from bench.wire import (
    Wire,
    batch_frame,
    batch_of,
    create_topic,
    fetch_frame,
    produce_one,
    wait_for_end,
)

STORM = 5_000
CONNECTING_AT_ONCE = 256

READERS = 300
STALLED = "stalled"
STALLED_BATCHES = 64
STALLED_RECORDS = 100
STALLED_VALUE_BYTES = 10_000
FETCH_BYTES = 50 * 1024 * 1024
RECEIVE_BYTES = 64 * 1024


def connection_storm(port: int, told: Told) -> None:
    """5,000 connections as fast as the broker takes them, each with a question, then all hang up.

    And again. A unit is a connection that was answered.
    """
    told.ready()
    while True:
        storm(port, told, STORM)
        told.whole()


def storm(port: int, told: Told, count: int) -> None:
    """One; returns when all were answered, or closed by the broker, and have hung up."""
    poll = select.epoll()
    opened: dict[int, socket.socket] = {}
    under_way = begun = 0
    try:
        while begun < count or under_way:
            while begun < count and under_way < CONNECTING_AT_ONCE:
                one = connecting(port)
                opened[one.fileno()] = one
                poll.register(one.fileno(), select.EPOLLOUT)
                begun += 1
                under_way += 1
            for fd, event in poll.poll():
                if event == select.EPOLLOUT:
                    opened[fd].send(API_VERSIONS_FRAME)
                    poll.modify(fd, select.EPOLLIN)
                else:
                    poll.unregister(fd)
                    told.did(_is_answered(opened[fd]))
                    under_way -= 1
    finally:
        poll.close()
        for one in opened.values():
            one.close()


def connecting(port: int) -> socket.socket:
    """A connection that is being made."""
    made = socket.socket()
    made.setblocking(False)
    if (code := made.connect_ex(("127.0.0.1", port))) not in (0, errno.EINPROGRESS):
        made.close()
        raise OSError(code, "cannot connect")
    return made


def _is_answered(connection: socket.socket) -> bool:
    try:
        return bool(connection.recv(1 << 12))
    except ConnectionError:
        return False


def stalled_readers(port: int, told: Told) -> None:
    """300 connections ask for 50 MB and read no more than the answer's first bytes.

    One that is closed by the broker comes again. A unit is an answer that was begun.
    """
    create_topic(port, STALLED)
    produce_one(port, STALLED)
    fill(port)
    frame = fetch_frame(STALLED, 0, 0, FETCH_BYTES, wait_ms=500, client_id=STALLED)
    readers: dict[int, socket.socket] = {}
    poll = select.epoll()

    def begin() -> None:
        one = stalling(port)
        one.sendall(frame)
        readers[one.fileno()] = one
        # Edge-triggered: of its end we hear, of what else it has not.
        poll.register(one.fileno(), select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET)

    told.ready()
    for _ in range(READERS):
        begin()
    begun: set[int] = set()
    while True:
        for fd, event in poll.poll():
            if event & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR):
                poll.unregister(fd)
                begun.discard(fd)
                readers.pop(fd).close()
                begin()
            elif fd not in begun:
                begun.add(fd)
                told.did(1)
                told.whole()  # all have asked, and the first is answered


def stalling(port: int) -> socket.socket:
    """A connection that takes little before it is full."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    made.connect(("127.0.0.1", port))
    return made


def fill(port: int) -> None:
    """64 batches of 1 MB, behind a record."""
    wire = Wire(port)
    frame = batch_frame(STALLED, 0, batch_of(STALLED_RECORDS, STALLED_VALUE_BYTES))
    for _ in range(STALLED_BATCHES):
        wire.socket.sendall(frame)
        wire.skip_response()
    wire.close()
    wait_for_end(port, STALLED, 0, 1 + STALLED_BATCHES * STALLED_RECORDS)
