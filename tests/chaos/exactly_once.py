"""Consume, transform, produce while everything dies: `python -m tests.chaos.exactly_once`.

Three nodes; for each client a copier of its own, from one topic to another, and a reader of what is
committed. Every node is killed in turn and every copier three times, always in the midst of work:
the source is fed in portions, one a death, and a death waits until part of its portion is copied.
Jobs: `copy`, and `transfer` (T12), which moves money between accounts, two records an order.
The result, as JSON, says what is missing, repeated, out of order or aborted and yet read.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.cluster_view import ClusterView
from tests.chaos.copier import JOBS, CopierOptions, CopierProcess
from tests.chaos.copy_audit import TargetWatch, audit, balance, count_aborted, count_all, feed
from tests.clients.transactional_clients import CLIENTS
from tests.tools.cluster_processes import KAFKA, OTTLA, ClusterProcesses

PARTITIONS = 3
COPIER_DEATHS = 3
NODES = 3
PATIENCE_S = 90.0
"""Without any new record anywhere: more than all the time-outs that can come one after another."""
PROPERTIES = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "1000",
    "replica.lag.time.max.ms": "3000",
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "auto.create.topics.enable": "false",
}


@dataclass
class Lane:
    """One client at one job: its topics, its process, and who reads the result."""

    client: str
    job: str
    source: str
    target: str
    copier: CopierProcess
    watch: TargetWatch

    def why(self) -> str:
        """What copier and reader are doing, and what is in the target: which of them is late."""
        self.copier.ask()
        servers = self.copier.options.servers
        return (
            f"copier {self.client} ended {self.copier.ends} times\n{self.copier.told()[-6000:]}\n"
            f"{count_all(servers, self.source, PARTITIONS)} records in {self.source}, "
            f"{count_all(servers, self.target, PARTITIONS)} in {self.target}, aborted and open "
            f"ones with them; its reader is here:\n{self.watch.where()}"
        )

    @property
    def name(self) -> str:
        return f"{self.job} {self.client}"

    @property
    def outputs(self) -> int:
        """Records that one record of the source makes."""
        return {"copy": 1, "transfer": 2}[self.job]


@dataclass
class CopyRun:
    """A run on a cluster that serves. `records` a lane, over all partitions."""

    cluster: ClusterProcesses
    folder: Path
    records: int
    work: tuple[tuple[str, str], ...]
    """Client and job of each lane."""
    batch: int = 100
    copier_deaths: int = COPIER_DEATHS
    result: dict[str, Any] = field(default_factory=dict)

    def run(self) -> dict[str, Any]:
        """Everything; of each lane `result` has an `Audit` as a dict, and more."""
        began = time.monotonic()
        view = ClusterView(self.cluster)
        lanes = [self._lane(view, client, job) for client, job in self.work]
        try:
            self._through_all_deaths(view, lanes)
            self._judge(lanes, self.records // PARTITIONS)
        finally:
            for lane in lanes:
                lane.copier.kill()
                lane.watch.stop()
        self.result["seconds"] = round(time.monotonic() - began, 1)
        return self.result

    def _through_all_deaths(self, view: ClusterView, lanes: list[Lane]) -> None:
        keys = {f"{lane.target}-{part}": NODES for lane in lanes for part in range(PARTITIONS)}
        deaths: list[tuple[str, int]] = []
        for number in range(1, NODES + 1):
            deaths += [("node", number), ("copier", number)][
                : 2 if number <= self.copier_deaths else 1
            ]
        portions = len(deaths) + 1
        per_partition = self.records // PARTITIONS
        fed = 0
        for portion, (what, number) in enumerate(deaths, 1):
            before, fed = fed, per_partition * portion // portions
            self._feed(lanes, before, fed)
            wanted = (before + (fed - before) // 5) * PARTITIONS
            self._wait(lanes, wanted)
            if what == "copier":
                for lane in lanes:
                    lane.copier.kill()
                    lane.copier.start()
                continue
            self.cluster.kill(number)
            self._wait(lanes, (before + (fed - before) // 2) * PARTITIONS)
            self.cluster.start_node(number)
            view.full_isr(keys)
        self._feed(lanes, fed, per_partition)
        self._wait(lanes, per_partition * PARTITIONS)

    def _lane(self, view: ClusterView, client: str, job: str) -> Lane:
        source, target = f"{job}-from-{client}", f"{job}-to-{client}"
        for topic in (source, target):
            view.create_topic(topic, PARTITIONS, NODES)
        options = CopierOptions(
            client=client,
            servers=self.cluster.bootstrap,
            source=source,
            target=target,
            partitions=PARTITIONS,
            group=f"{job}-{client}",
            job=job,
            batch=self.batch,
        )
        copier = CopierProcess(options, self.folder / f"{job}-{client}.log")
        copier.start()
        watch = TargetWatch(client, self.cluster.bootstrap, target, PARTITIONS)
        return Lane(client, job, source, target, copier, watch)

    def _feed(self, lanes: list[Lane], begin: int, end: int) -> None:
        for lane in lanes:
            feed(self.cluster.bootstrap, lane.source, PARTITIONS, begin, end)

    def _wait(self, lanes: list[Lane], inputs: int) -> None:
        """Until each lane has written what so many inputs make."""
        for lane in lanes:
            lane.watch.wait_for(inputs * lane.outputs, PATIENCE_S, lane.why)

    def _judge(self, lanes: list[Lane], per_partition: int) -> None:
        for lane in lanes:
            # A repeat would come behind what was waited for: one more input shows the end.
            feed(self.cluster.bootstrap, lane.source, PARTITIONS, per_partition, per_partition + 1)
            total = (per_partition + 1) * PARTITIONS
            lane.watch.wait_for(total * lane.outputs, PATIENCE_S, lane.why)
            lane.copier.kill()
            lane.watch.stop()
            found = audit(lane.watch.seen, lane.job, PARTITIONS, per_partition + 1)
            told: dict[str, Any] = found._asdict()
            told |= {"lives": lane.copier.lives, "ended_by_itself": lane.copier.ends}
            told["read"] = lane.watch.count()
            told["aborted_in_the_log"] = count_aborted(
                self.cluster.bootstrap, lane.target, PARTITIONS, lane.watch.count()
            )
            if lane.job == "transfer":
                told["balance"] = balance(lane.watch.seen)
            self.result[lane.name] = told

    @property
    def clean(self) -> bool:
        """Nothing is wrong, and there were aborted records to be seen."""
        lanes = [self.result[f"{job} {client}"] for client, job in self.work]
        wrong = ("missing", "repeated", "disordered", "aborted", "foreign", "balance")
        return all(
            lane["aborted_in_the_log"] > 0 and not any(lane.get(what, 0) for what in wrong)
            for lane in lanes
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.exactly_once", description=__doc__)
    parser.add_argument("--records", type=int, default=100_000, help="of each lane")
    parser.add_argument("--clients", default=",".join(CLIENTS))
    parser.add_argument("--job", choices=tuple(JOBS), default="copy")
    parser.add_argument("--batch", type=int, default=100, help="records of one transaction")
    parser.add_argument("--peer", choices=(OTTLA, KAFKA), default=OTTLA)
    parser.add_argument("--json", type=Path, default=None, help="write the result there")
    parser.add_argument("--keep", type=Path, default=None, help="logs and data stay there")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="copy-"))
    if options.keep is not None:
        folder = options.keep
        folder.mkdir(parents=True)
    with ClusterProcesses(
        NODES, peer=options.peer, properties=PROPERTIES, folder=options.keep
    ) as cluster:
        run = CopyRun(
            cluster,
            folder,
            options.records,
            tuple((client, options.job) for client in options.clients.split(",")),
            options.batch,
        )
        asked = {"peer": options.peer, "job": options.job, "records": options.records}
        asked["date"] = time.strftime("%Y-%m-%d")
        text = json.dumps({**asked, **run.run(), "clean": run.clean}, indent=1)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n")
    return 0 if run.clean else 1


if __name__ == "__main__":
    sys.exit(main())
