"""One chaos run: a cluster, its load, its nemesis, and the verdict.

Boot, load under faults, heal, wait for full in-sync sets, read everything from its start by a fresh
client, stop, compare the replicas on disk, judge. `ChaosRun(...).run()` gives a `Verdict`.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from protocol.errors import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.chaos.checker import check, summary
from tests.chaos.facts import Anomaly
from tests.chaos.final_reads import read_everything
from tests.chaos.group_load import GroupMember
from tests.chaos.history import (
    FAIL,
    OK,
    Assigned,
    Commit,
    Committed,
    Fault,
    Final,
    Poll,
    Send,
    Surprise,
    Transaction,
)
from tests.chaos.nemesis import Nemesis, Planned
from tests.chaos.raw_client import Hung, NotSent, RawClient, key_of
from tests.chaos.replicas import compare, logged_faults
from tests.chaos.transactional_load import TIMEOUT_MS, CommittedReader, TransactionalProducer
from tests.chaos.workload import Producer, Reader, Shared, Watcher, Worker
from tests.tools.cluster_processes import HOST, OTTLA, ROOT, ClusterProcesses, Program

TOPICS = {"alpha": 4, "beta": 4, "gamma": 4}
PROPERTIES = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "3000",
    "log.segment.bytes": "1048576",
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "3000",
    "auto.create.topics.enable": "false",
}
# Of a JVM that has just started: its requests to the controller time out after this interval.
KAFKA_PROPERTIES = {"broker.heartbeat.interval.ms": "1000"}
HEAL_S = 90.0
CLEAN, VIOLATION, INVALID = 0, 1, 2


@dataclass
class Verdict:
    """What came of a run."""

    seed: int
    peer: str
    mode: str
    seconds: float
    operations: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    anomalies: dict[str, object] = field(default_factory=dict)
    invalid: list[str] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    gaps_s: dict[str, float] = field(default_factory=dict)
    """Longest time without any acknowledgement around each kind of fault."""
    controllers: dict[int, int] = field(default_factory=dict)
    """How often each node was the active controller when a fault began."""
    leaders: dict[int, int] = field(default_factory=dict)
    """How many partitions each node led then, of all faults."""
    notes: list[str] = field(default_factory=list)
    kept: str = ""

    @property
    def exit_code(self) -> int:
        """0 clean, 1 a violation, 2 a run that shows nothing."""
        if self.anomalies:
            return VIOLATION
        return INVALID if self.invalid else CLEAN

    def to_json(self) -> str:
        return json.dumps({"exit_code": self.exit_code, **self.__dict__}, indent=1, default=str)


class ChaosRun:
    """`seconds` of load under faults, and what has to come before and after."""

    def __init__(
        self,
        *,
        seconds: float,
        seed: int,
        peer: str = OTTLA,
        others: Mapping[int, str] | None = None,
        mode: str = "raw",
        kinds: list[str] | None = None,
        folder: Path | None = None,
        producers: int = 6,
        readers: int = 4,
        members: int = 3,
        transactional: int = 4,
        least_faults: int = 0,
        keep_always: bool = False,
        secured: bool = False,
    ) -> None:
        self._seconds = seconds
        self._seed = seed
        self._kinds = kinds
        self._folder = folder
        self._counts = (producers, readers, members, transactional)
        self._least_faults = least_faults
        self._keep_always = keep_always
        programs = [Program.named(name) for name in (peer, *(others or {}).values())]
        self._is_ottla = all(program.peer == OTTLA for program in programs)
        properties = PROPERTIES if self._is_ottla else {**PROPERTIES, **KAFKA_PROPERTIES}
        self._cluster = ClusterProcesses(
            3,
            program=programs[0],
            others=others,
            properties=properties,
            secured=secured,
            proxied=True,
        )
        shown = ",".join([peer, *(f"{node}={name}" for node, name in (others or {}).items())])
        self.verdict = Verdict(seed, shown, mode, seconds)
        self._rss: dict[int, float] = {}

    def run(self) -> Verdict:
        """Everything; the cluster is gone afterwards, its files are kept if something is wrong."""
        try:
            begun = time.monotonic()
            self._cluster.start()
            self.verdict.figures["boot_s"] = round(time.monotonic() - begun, 2)
            history = asyncio.run(self._load())
            anomalies = self._of_this_peer(check(history))
            self._cluster.stop()
            anomalies += self._look_at_disks() + self._look_at_processes()
            self.verdict.anomalies = summary(anomalies)
            if (anomalies or self._keep_always) and self._folder is not None:
                history.write(self._folder / "history.jsonl")
                self._keep()
        except BaseException:
            if self._folder is not None:
                self._keep()
            raise
        finally:
            self._cluster.close()
        return self.verdict

    def _of_this_peer(self, anomalies: list[Anomaly]) -> list[Anomaly]:
        """Apache Kafka's threads read the high watermark that they tell before the records."""
        if self._is_ottla:
            return anomalies
        kept = [anomaly for anomaly in anomalies if anomaly.kind != "above-high-watermark"]
        if len(kept) < len(anomalies):
            told = f"{len(anomalies) - len(kept)} records came with an older high watermark"
            self.verdict.notes.append(told)
        return kept

    # --- the load --------------------------------------------------------------------------------

    async def _load(self) -> object:
        # Blocking calls of clients must not keep the nemesis waiting.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(32))
        login = self._cluster.login
        addresses = {n.node_id: (HOST, n.client_door, login) for n in self._cluster.brokers}
        keys = [key_of(topic, p) for topic, count in TOPICS.items() for p in range(count)]
        shared = self._shared = Shared(addresses, keys, self._seed)
        client = RawClient("runner", addresses, shared.rng("runner"))
        await self._create_topics(client)
        nemesis = Nemesis(self._cluster, shared, self._seed)
        plan = nemesis.schedule(self._seconds)
        if self._kinds is not None:
            plan = [Planned(5 + 10.0 * index, kind, 4.0) for index, kind in enumerate(self._kinds)]
        print("schedule:", *(f"{p.at_s:.0f}s:{p.kind}:{p.seconds}" for p in plan), flush=True)
        workers = [asyncio.create_task(worker.run()) for worker in self._workers(shared)]
        watch = asyncio.create_task(self._watch_processes())
        try:
            await nemesis.run(plan)
            await asyncio.sleep(max(2.0, self._seconds - shared.now()))
        finally:
            shared.stopping.set()
            done = await asyncio.gather(*workers, return_exceptions=True)
            watch.cancel()
        for result in done:
            if isinstance(result, BaseException):
                raise result
        await self._finish(client)
        client.close()
        self.verdict.faults = nemesis.done
        self.verdict.controllers = nemesis.controllers
        self.verdict.leaders = nemesis.leaders
        self.verdict.notes += nemesis.notes
        self._count()
        return shared.history

    def _workers(self, shared: Shared) -> list[Worker]:
        producers, readers, members, transactional = self._counts
        workers: list[Worker] = [Watcher("watcher", shared)]
        if self.verdict.mode == "confluent":
            from tests.chaos.confluent_load import ConfluentProducer, ConfluentReader

            login = self._cluster.login
            way = {"bootstrap.servers": self._cluster.bootstrap}
            way |= {} if login is None else login.of_librdkafka()
            workers += [ConfluentProducer(f"p{n}", shared, way) for n in range(producers)]
            workers += [ConfluentReader(f"c{n}", shared, way) for n in range(readers)]
        else:
            workers += [Producer(f"p{n}", shared) for n in range(producers)]
            workers += [Reader(f"c{n}", shared) for n in range(readers)]
        workers += [
            TransactionalProducer(f"t{n}", shared, n % 2 == 1) for n in range(transactional)
        ]
        workers += [CommittedReader(f"r{n}", shared) for n in range(transactional)]
        workers += [GroupMember(f"m{n}", shared) for n in range(members)]
        return workers

    async def _create_topics(self, client: RawClient) -> None:
        for topic, count in TOPICS.items():
            request = CreateTopicsRequest([CreatableTopic(topic, count, 3)], 10_000)
            await self._insist(client, request, 5)
        await self._full_isr(client, HEAL_S)

    async def _insist(self, client: RawClient, request: CreateTopicsRequest, version: int) -> None:
        deadline = time.monotonic() + HEAL_S
        codes = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        while True:
            try:
                answer = await client.call(
                    client.rng.choice(list(self._shared.addresses)), request, version
                )
                code = ErrorCode(answer.topics[0].error_code)
                if code in codes:
                    return
                said = f"{code.name}: {answer.topics[0].error_message}"
            except (NotSent, Hung) as error:
                said = repr(error)
            assert time.monotonic() < deadline, f"no topic could be created: {said}"
            await asyncio.sleep(0.3)

    async def _full_isr(self, client: RawClient, patience_s: float) -> list[str]:
        """Wait until every key has all of its replicas in sync; those that have not."""
        deadline = time.monotonic() + patience_s
        while True:
            await client.metadata()
            lacking = [
                f"{key}: leader {client.leaders.get(key)}, ISR {client.isr.get(key)} of "
                f"{client.replicas.get(key)}"
                for key in self._shared.keys
                if client.leader(key) is None or len(client.isr.get(key, ())) < 3
            ]
            if not lacking or time.monotonic() > deadline:
                return lacking
            await asyncio.sleep(0.3)

    async def _watch_processes(self) -> None:
        while True:
            for node in self._cluster.nodes.values():
                try:
                    if node.process is not None:
                        used = psutil.Process(node.process.pid).memory_info().rss / 1e6
                        self._rss[node.node_id] = max(used, self._rss.get(node.node_id, 0))
                except psutil.Error:
                    continue
            await asyncio.sleep(1)

    # --- the end ---------------------------------------------------------------------------------

    async def _finish(self, client: RawClient) -> None:
        """Full in-sync sets, and everything read from its start."""
        begun = time.monotonic()
        lacking = await self._full_isr(client, HEAL_S)
        self.verdict.figures["full_isr_after_s"] = round(time.monotonic() - begun, 2)
        self._unhealed = [Anomaly("not-healed", text) for text in lacking]
        self._unhealed += await read_everything(client, self._shared, TIMEOUT_MS / 1000)

    def _count(self) -> None:
        history = self._shared.history
        outcomes = Counter(send.outcome for send in history.of(Send))
        ended = Counter(one.outcome for one in history.of(Transaction))
        self.verdict.operations = {
            **{f"send {outcome}": count for outcome, count in sorted(outcomes.items())},
            **{f"transaction {outcome}": count for outcome, count in sorted(ended.items())},
            "poll": sum(1 for _ in history.of(Poll)),
            "read records": sum(len(poll.records) for poll in history.of(Poll)),
            "assignments": sum(1 for _ in history.of(Assigned)),
            "commits ok": sum(1 for commit in history.of(Commit) if commit.outcome == OK),
            "committed offsets looked up": sum(1 for _ in history.of(Committed)),
            "surprises": sum(1 for _ in history.of(Surprise)),
            "all events": len(history.events),
        }
        acknowledged = sorted(s.t1 for s in history.of(Send) if s.outcome == OK)
        gaps = [b - a for a, b in zip(acknowledged, acknowledged[1:], strict=False)]
        self.verdict.figures["longest_gap_of_acks_s"] = round(max(gaps, default=0), 2)
        for fault in history.of(Fault):
            # What lies in [t0, t1 + 10 s], whole: the silence that this fault brought.
            silent = [
                later - earlier
                for earlier, later in zip(acknowledged, acknowledged[1:], strict=False)
                if later > fault.t0 and earlier < fault.t1 + 10
            ]
            worst = self.verdict.gaps_s.get(fault.kind, 0.0)
            self.verdict.gaps_s[fault.kind] = round(max([worst, *silent]), 2)
        self.verdict.figures["rss_max_mb"] = round(max(self._rss.values(), default=0), 1)
        if outcomes[OK] < self._seconds * 2:
            self.verdict.invalid.append(f"only {outcomes[OK]} sends were acknowledged")
        if not self.verdict.operations["commits ok"]:
            self.verdict.invalid.append("the group committed nothing")
        if self._counts[3] and not (ended[OK] and ended[FAIL]):
            self.verdict.invalid.append("no transaction was committed, or none aborted")
        if len(self.verdict.faults) < self._least_faults:
            self.verdict.invalid.append(f"only {len(self.verdict.faults)} kinds of faults")
        if sum(1 for _ in history.of(Final)) < 0.9 * 2 * len(self._shared.keys):
            self.verdict.invalid.append("less than 90 % of the final reads")

    def _look_at_disks(self) -> list[Anomaly]:
        folders = {node.node_id: node.data_dir for node in self._cluster.brokers}
        anomalies, compared = compare(folders)
        self.verdict.figures["batches_compared_on_disk"] = compared
        if not compared:
            self.verdict.invalid.append("no replicas were compared on disk")
        return self._unhealed + anomalies

    def _look_at_processes(self) -> list[Anomaly]:
        found = [Anomaly("process", death) for death in self._cluster.unexpected_deaths()]
        for node in self._cluster.nodes.values():
            if node.peer == OTTLA:  # Apache Kafka logs errors about faults; that is its way
                found += [
                    Anomaly("logged-fault", f"node {node.node_id}: {text}")
                    for text in logged_faults(node.log_text())
                ]
        return found

    def _keep(self) -> None:
        """Logs and data of the nodes, for whoever looks into it."""
        assert self._folder is not None
        for node in self._cluster.nodes.values():
            target = self._folder / f"node-{node.node_id}"
            shutil.copytree(node.folder, target, dirs_exist_ok=True)
        self.verdict.kept = str(self._folder)


def commit_of_sources() -> str:
    """Which sources were tried."""
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip() or "unknown"
