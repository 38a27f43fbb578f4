"""The broker as a daemon meets the world: closed descriptors, readers that are gone, signals.

What Kafka does: SIGHUP stops it cleanly unless `nohup` ignores it, SIGQUIT says where its threads
are and SIGPIPE nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ottla.launcher import ottla_command
from ottla.testing.broker_process import HOST
from protocol.messages.api_versions import ApiVersionsRequest
from tests.clients.wire_client import WireClient
from tests.tools.cluster_processes import answers_api_versions
from tests.tools.ports import free_base, free_port
from tests.tools.waiting import wait_until

DEADLINE_S = 90
_CLOSED = "import os, sys; [os.close(n) for n in (0, 1, 2)]; os.execv(sys.argv[1], sys.argv[1:])"
_HEARD = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
_NOHUP = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
_RUN = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"


@contextmanager
def started(
    before: str, command: Sequence[str], **streams: int | None
) -> Iterator[subprocess.Popen[bytes]]:
    """The command, after `before` was done in its process."""
    process = subprocess.Popen([sys.executable, "-S", "-c", before, *command], **streams)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for_answer(port: int) -> None:
    wait_until(lambda: answers_api_versions(port), "the answer of a server")


def serving(port: int, folder: Path) -> list[str]:
    keys = (f"listeners=PLAINTEXT://{HOST}:{port}", f"log.dirs={folder}")
    return ottla_command("serve", *(word for key in keys for word in ("--override", key)))


def test_with_its_descriptors_closed_sighup_stops_it_cleanly(tmp_path: Path) -> None:
    """Its listener took descriptor 0, which the event loop does not watch."""
    port = free_port()
    with started(_HEARD + _CLOSED, serving(port, tmp_path / "data")) as process:
        wait_for_answer(port)
        of_streams = [os.readlink(f"/proc/{process.pid}/fd/{number}") for number in (0, 1, 2)]
        assert of_streams == [os.devnull] * 3
        process.send_signal(signal.SIGHUP)
        assert process.wait(DEADLINE_S) == 0
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_nobody_reads_what_it_says_and_signals_that_do_not_stop_it(tmp_path: Path) -> None:
    port = free_port()
    reader, writer = os.pipe()
    os.close(reader)
    streams = {"stdout": writer, "stderr": writer}
    with started(_NOHUP + _RUN, serving(port, tmp_path / "data"), **streams) as process:
        os.close(writer)
        wait_for_answer(port)
        with WireClient(port) as client:
            for number in (
                signal.SIGHUP,
                signal.SIGQUIT,
                signal.SIGPIPE,
                signal.SIGTSTP,
                signal.SIGCONT,
            ):
                process.send_signal(number)
            assert client.call(ApiVersionsRequest(), 0).error_code == 0
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_a_cluster_whose_words_nobody_reads_stops_its_nodes_cleanly(tmp_path: Path) -> None:
    """The terminal, or `tee`, is gone: the nodes were killed, and left no marker."""
    base = free_base()
    reader, writer = os.pipe()
    command = ottla_command("cluster", "--brokers", "1", "--port", str(base))
    with started(_HEARD + _RUN, [*command, "--dir", str(tmp_path)], stdout=writer) as process:
        os.close(writer)
        os.close(reader)
        wait_for_answer(base)
        process.send_signal(signal.SIGHUP)
        assert process.wait(DEADLINE_S) == 0
    assert (tmp_path / "broker-1" / "data" / ".kafka_cleanshutdown").exists()
