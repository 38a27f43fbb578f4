"""`make demo`: a cluster, the whole pipeline on it, two deaths in the middle, and an audit.

Starts three brokers, the stream job and the generator as processes of their own, kills one broker
and the stream job with `kill -9`, starts both again, loads, and audits everything against the
generator's seed. Owns the order of it and says what it does before it does it. Opens no window,
and ends only what it started.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from pipeline.auditing.report import WHOLE
from pipeline.auditing.timeline import Timeline
from pipeline.demo_processes import Background, free_ports
from pipeline.errors import PipelineError
from pipeline.jobs.generate import PARTITIONS, TOPIC
from pipeline.spark.connection import Connection
from pipeline.spark.jars import jar_settings
from pipeline.spark.java import check_java
from pipeline.topics import KEPT_FOR_EVER, Cluster

BROKERS = 3
VICTIM = 2
KILL_BROKER_AT, KILL_STREAM_AT, RESTART_BROKER_AT = 30, 55, 80
_MARKER = ".ottla-demo"
_START_S, _SPARK_START_S = 120.0, 600.0
_JOB_S = 1_800.0
_IDLE_S = 8
_POLL_S = 0.2


def main() -> int:
    """Run the demo, and return the exit code: the audit's, 2 for an error, or 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m pipeline.demo", description=__doc__)
    parser.add_argument("--events", type=int, default=200_000, help="records of the generator")
    parser.add_argument("--seconds", type=float, default=60, help="in how long they are sent")
    parser.add_argument("--seed", type=int, default=1, help="same seed, same records")
    parser.add_argument("--folder", type=Path, default=Path("demo"), help="for all that is written")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        check_java()
        jar_settings()  # fetches the jars now, not while events are sent
        folder = _fresh(options.folder)
        demo = Demo(folder, options.events, options.seconds, options.seed)
        try:
            code = demo.run()
        finally:
            demo.close()
        demo.conclude(code)
        return code
    except PipelineError as error:
        print(f"ottla-pipeline: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


class Demo:
    """A run of the demo in a folder."""

    def __init__(self, folder: Path, events: int, seconds: float, seed: int) -> None:
        self._folder = folder
        self._events = events
        self._rate = events / seconds
        self._seed = seed
        self._began = time.monotonic()
        self._started: list[Background] = []
        self._servers = ""
        self._heard = Timeline()
        self._silent = False
        self._report = folder / "report.html"
        self._pids: dict[int, int] = {}

    def run(self) -> int:
        """Run the whole demo, and return the audit's exit code: 0 if all checks hold.

        Raises PipelineError if a process failed.
        """
        self._say(
            f"brokers, a stream of events for {self._events / self._rate:.0f} s with two deaths in "
            "it, a load, an audit: some minutes in all, Ctrl-C ends everything"
        )
        self._start_cluster()
        # The topic first, so that the stream job is at work when the first record comes.
        Cluster(Connection(self._servers)).ensure(TOPIC, PARTITIONS, KEPT_FOR_EVER)
        self._say("the stream job, on Spark: its Java takes a moment to start")
        stream = self._stream()
        stream.wait_for("begins with topic", _SPARK_START_S)
        self._say(
            f"{self._events:,} events at {self._rate:,.0f}/s, a day of the operator's clock; "
            f"node {VICTIM} and the stream job will be killed on the way"
        )
        generator = self._job(
            "generate",
            *("--rate", f"{self._rate:g}", "--events", str(self._events)),
            *("--seed", str(self._seed)),
        )
        stream = self._go_through(generator, stream)
        if generator.wait(_JOB_S):
            raise PipelineError("demo: the generator failed; its last line says why")
        while True:
            code = stream.wait(_JOB_S)
            if code:
                raise PipelineError("demo: the stream job failed; its last line says why")
            if stream.find("done: nothing new"):
                break
        self._say("loading what the topic holds into Parquet by date and hour")
        if self._job("load", "--table", self._path("events")).wait(_JOB_S):
            raise PipelineError("demo: the load failed; its last line says why")
        return self._audit()

    def close(self) -> None:
        """End the processes that still run, the cluster last."""
        self._say("ending what was started")
        self._silent = True  # the last lines of the processes are of no interest
        for process in reversed(self._started):
            process.end(60)
        self._silent = False
        shutil.rmtree(self._path("tmp"), ignore_errors=True)

    def conclude(self, code: int) -> None:
        """Print the result, and the path of the report."""
        self._say(f"{WHOLE if code == 0 else 'something is not whole'}; see {self._report}")

    def _start_cluster(self) -> None:
        self._say(f"a cluster of {BROKERS} brokers on this machine, in {self._folder}/cluster")
        arguments = ["-m", "command", "cluster", "--brokers", str(BROKERS)]
        arguments += ["--dir", self._path("cluster"), "--port", str(free_ports())]
        cluster = self._start("ottla cluster", arguments)
        self._servers = cluster.wait_for(r"bootstrap servers (\S+)", _START_S)[1]
        for node in range(1, BROKERS + 1):
            serving = cluster.wait_for(rf"node {node} serves .*\(process (\d+)\)", _START_S)
            self._pids[node] = int(serving[1])

    def _go_through(self, generator: Background, stream: Background) -> Background:
        """Kill and restart the broker and the stream job while the generator runs.

        Returns the stream job that runs at the end. Raises PipelineError if the stream job failed.
        """
        broker_killed = broker_back = stream_killed = False
        while generator.running or not (broker_back and stream_killed):
            percent = self._percent(generator)
            if percent >= KILL_BROKER_AT and not broker_killed:
                broker_killed = True
                self._tell(f"kill -9 {self._pids[VICTIM]}: node {VICTIM} is gone")
                os.kill(self._pids[VICTIM], signal.SIGKILL)
            if percent >= KILL_STREAM_AT and not stream_killed and self._has_worked(stream):
                stream_killed = True
                self._tell(f"kill -9 {stream.pid}: the stream job is gone, in its work")
                stream.kill()
                self._tell("the same command again: the stream job goes on from its checkpoint")
                stream = self._stream()
            if percent >= RESTART_BROKER_AT and not broker_back:
                broker_back = True
                self._tell(f"node {VICTIM} is started again by hand")
                config = self._path("cluster", f"broker-{VICTIM}.properties")
                self._start("node", ["-m", "command", "serve", "--config", config])
            if not stream.running:
                if stream.wait(_JOB_S):
                    raise PipelineError("demo: the stream job failed; its last line says why")
                stream = self._stream()  # the job had caught up with a delayed generator
            time.sleep(_POLL_S)
        return stream

    def _has_worked(self, stream: Background) -> bool:
        return stream.find(r"aggregates: batch \d+, [1-9]") is not None

    def _percent(self, generator: Background) -> int:
        if generator.find("done:"):
            return 100
        progress = generator.find(r"\((\d+) %\)")
        return int(progress[1]) if progress else 0

    def _audit(self) -> int:
        self._heard.write(Path(self._path("run.json")))
        self._say("auditing: every record, every sum, against the seed and against each other")
        audit = self._job(
            "audit",
            *("--table", self._path("events"), "--aggregates", self._path("aggregates")),
            *("--results-topic", "cdr-aggregates", "--dead-letters", "cdr-dead-letters"),
            *("--against-seed", "--events", str(self._events), "--seed", str(self._seed)),
            *("--report", str(self._report), "--run", self._path("run.json")),
        )
        code = audit.wait(_JOB_S)
        if code not in (0, 1):
            raise PipelineError("demo: the audit could not run; its last line says why")
        return code

    def _stream(self) -> Background:
        port = free_ports()
        self._heard.ui = f"http://127.0.0.1:{port}"
        self._say(f"Spark's own pages, while it runs: {self._heard.ui}")
        return self._job(
            "stream",
            *("--table", self._path("aggregates"), "--checkpoint", self._path("checkpoint")),
            *("--trigger", "3", "--batch-max", "40000", "--until-idle", str(_IDLE_S)),
            *("--conf", "spark.ui.enabled=true", "--conf", f"spark.ui.port={port}"),
        )

    def _job(self, job: str, *arguments: str) -> Background:
        topic = ["--topic", TOPIC, "--bootstrap-server", self._servers]
        return self._start(job, ["-m", "pipeline", job, *topic, *arguments])

    def _start(self, name: str, arguments: list[str]) -> Background:
        # A killed job leaves its scratch files, so keep them in the demo's own folder.
        process = Background(name, arguments, self._show, {"TMPDIR": self._path("tmp")})
        self._started.append(process)
        return process

    def _path(self, *names: str) -> str:
        return str(self._folder.joinpath(*names))

    def _tell(self, text: str) -> None:
        """Print a line, and add its text to the report's marks."""
        self._heard.mark(self._now(), text)
        self._say(text)

    def _say(self, text: str) -> None:
        self._show(f"demo: {text}")

    def _show(self, text: str) -> None:
        self._heard.hear(self._now(), text)
        if not self._silent:
            print(f"{self._now():6.1f} s  {text}", flush=True)

    def _now(self) -> float:
        """Return the seconds since the demo began."""
        return time.monotonic() - self._began


def _fresh(folder: Path) -> Path:
    """Return an empty folder, without the files that an earlier demo left there.

    Raises PipelineError if no demo made the folder that is there.
    """
    if folder.exists():
        if not (folder / _MARKER).exists():
            raise PipelineError(f"{folder} is not an earlier demo's: name another with --folder")
        shutil.rmtree(folder)
    (folder / "tmp").mkdir(parents=True)
    (folder / _MARKER).touch()
    return folder.resolve()


if __name__ == "__main__":
    sys.exit(main())
