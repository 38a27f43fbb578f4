"""The three nodes of docs/operations.md after the README's `make run`, in one checkout.

A node's folder `data/broker-1` reads like partition 1 of a topic `broker` to the node that has
`data`. It is to stay where it is, whoever starts when.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest

from ottla.launcher import ottla_command
from ottla.testing.broker_process import HOST
from tests.architecture.sources import ROOT
from tests.compat.ottla_command import Ottla
from tests.tools.cluster_processes import answers_api_versions
from tests.tools.ports import free_base

pytestmark = pytest.mark.timeout(300)

DEADLINE_S = 60
CLUSTER_ID = "jk6M3w4xSRu0i0cJm8WJpw"
NODES = (1, 2, 3)


class Checkout:
    """A folder with `conf/`, the ports in it moved to free ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        base = free_base()
        (folder / "conf").mkdir()
        for node in NODES:
            name = f"conf/broker-{node}.properties"
            text = (ROOT / name).read_text()
            for number, port in enumerate((9092, 9093, 9094, 9102, 9103, 9104)):
                text = text.replace(f"localhost:{port}", f"localhost:{base + number}")
            (folder / name).write_text(text)
        self.ports = [base + number for number in range(3)]
        self.port_of_run = base + 6
        self.cluster = Ottla(f"{HOST}:{self.ports[0]}")

    @contextmanager
    def serving(self, *nodes: tuple[int, Sequence[str]]) -> Iterator[None]:
        """`ottla serve` in this folder for each port, with these options; stopped in order."""
        with ExitStack() as stack:
            processes = {}
            for port, words in nodes:
                log = stack.enter_context(open(self.log_of(port), "ab"))
                process = subprocess.Popen(
                    ottla_command("serve", *words), cwd=self.folder, stdout=log, stderr=log
                )
                stack.callback(process.wait)
                stack.callback(process.kill)
                processes[port] = process
            for port, process in processes.items():
                deadline = time.monotonic() + DEADLINE_S
                while not answers_api_versions(port):
                    assert process.poll() is None, self.log_of(port).read_text()
                    assert time.monotonic() < deadline, self.log_of(port).read_text()
                    time.sleep(0.02)
            yield
            for port, process in processes.items():
                assert process.poll() is None, self.log_of(port).read_text()
                process.send_signal(signal.SIGTERM)
            assert [process.wait(DEADLINE_S) for process in processes.values()] == [0] * len(nodes)

    def log_of(self, port: int) -> Path:
        return self.folder / f"{port}.log"

    def as_in_the_readme(self) -> AbstractContextManager[None]:
        """`make run`: the folder `data`, and no file."""
        return self.serving((self.port_of_run, ("--port", str(self.port_of_run))))

    def as_in_operations(self, *more: str) -> AbstractContextManager[None]:
        """The three nodes; `{node}` stands for the number of each."""
        nodes = []
        for node, port in zip(NODES, self.ports, strict=True):
            words = ("--config", f"conf/broker-{node}.properties", "--cluster-id", CLUSTER_ID)
            nodes.append((port, [*words, *(word.format(node=node) for word in more)]))
        return self.serving(*nodes)


@pytest.mark.parametrize(
    "elsewhere",
    [
        pytest.param([], id="as-documented", marks=pytest.mark.long),
        pytest.param(["--override", "log.dirs=data/broker-{node}"], id="within-data"),
    ],
)
def test_the_nodes_of_operations_and_that_of_the_readme_leave_each_other_alone(
    tmp_path: Path, elsewhere: list[str]
) -> None:
    """The files of an earlier release had the nodes' folders in `data`."""
    checkout = Checkout(tmp_path)
    cluster, folder = checkout.cluster, "data/broker-" if elsewhere else "cluster-data/broker-"
    with checkout.as_in_the_readme():
        pass
    with checkout.as_in_operations(*elsewhere):
        cluster("topic", "create", "keep")
        cluster("produce", "keep", data=b"precious\n")
        with checkout.as_in_the_readme():  # beside them
            cluster("produce", "keep", data=b"more\n")
    with checkout.as_in_the_readme():
        pass
    with checkout.as_in_operations(*elsewhere):
        assert sorted(cluster("consume", "keep").split()) == [b"more", b"precious"]
    said = checkout.log_of(checkout.port_of_run).read_text()
    lines = [f"{folder}{node} is the data folder of a node: left as it is" for node in NODES]
    assert [said.count(line) for line in lines] == [2 if elsewhere else 0] * 3
    assert said.count("WARN") == (6 if elsewhere else 0), said
    assert sorted(path.name for path in (tmp_path / folder).parent.glob("broker-*")) == [
        f"broker-{node}" for node in NODES
    ]
