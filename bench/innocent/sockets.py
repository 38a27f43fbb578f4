"""Loads of many connections: a connection storm, and readers that stop within an answer."""

from __future__ import annotations

import errno
import select
import socket

from bench.idle import API_VERSIONS_FRAME
from bench.innocent.progress import LoadProgress
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


def connection_storm(port: int, progress: LoadProgress) -> None:
    """Open 5,000 connections as fast as the broker accepts, send a request on each, close all.

    And again. A unit is a connection that was answered.
    """
    progress.ready()
    while True:
        storm(port, progress, STORM)
        progress.whole()


def storm(port: int, progress: LoadProgress, count: int) -> None:
    """Run one storm, until all connections were answered or closed by the broker; close them."""
    poll = select.epoll()
    opened: dict[int, socket.socket] = {}
    under_way = begun = 0
    try:
        while begun < count or under_way:
            while begun < count and under_way < CONNECTING_AT_ONCE:
                connection = connecting(port)
                opened[connection.fileno()] = connection
                poll.register(connection.fileno(), select.EPOLLOUT)
                begun += 1
                under_way += 1
            for fd, event in poll.poll():
                if event == select.EPOLLOUT:
                    opened[fd].send(API_VERSIONS_FRAME)
                    poll.modify(fd, select.EPOLLIN)
                else:
                    poll.unregister(fd)
                    progress.did(_is_answered(opened[fd]))
                    under_way -= 1
    finally:
        poll.close()
        for connection in opened.values():
            connection.close()


def connecting(port: int) -> socket.socket:
    """Return a connection that is not established yet."""
    connection = socket.socket()
    connection.setblocking(False)
    if (code := connection.connect_ex(("127.0.0.1", port))) not in (0, errno.EINPROGRESS):
        connection.close()
        raise OSError(code, "cannot connect")
    return connection


def _is_answered(connection: socket.socket) -> bool:
    try:
        return bool(connection.recv(1 << 12))
    except ConnectionError:
        return False


def stalled_readers(port: int, progress: LoadProgress) -> None:
    """Request 50 MB on 300 connections, and read no more than the first bytes of the answers.

    A connection that the broker closes is made again. A unit is an answer that has begun.
    """
    create_topic(port, STALLED)
    produce_one(port, STALLED)
    fill(port)
    frame = fetch_frame(STALLED, 0, 0, FETCH_BYTES, wait_ms=500, client_id=STALLED)
    readers: dict[int, socket.socket] = {}
    poll = select.epoll()

    def begin() -> None:
        """Connect a reader that sends a request and reads nothing; poll for its end."""
        reader = stalling(port)
        reader.sendall(frame)
        readers[reader.fileno()] = reader
        # Edge-triggered: the end of the connection is an event, bytes that stay unread are none.
        poll.register(reader.fileno(), select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET)

    progress.ready()
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
                progress.did(1)
                progress.whole()  # all requests are sent, and the first answer has begun


def stalling(port: int) -> socket.socket:
    """Return a connection with a small receive buffer."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    connection.connect(("127.0.0.1", port))
    return connection


def fill(port: int) -> None:
    """Produce 64 batches of 1 MB after the first record."""
    wire = Wire(port)
    frame = batch_frame(STALLED, 0, batch_of(STALLED_RECORDS, STALLED_VALUE_BYTES))
    for _ in range(STALLED_BATCHES):
        wire.socket.sendall(frame)
        wire.skip_response()
    wire.close()
    wait_for_end(port, STALLED, 0, 1 + STALLED_BATCHES * STALLED_RECORDS)
