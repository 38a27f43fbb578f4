"""Archives of classes for the commands of Kafka that the tests start most.

A JVM that has one needs half the processor time for its start. They are made once, from short
commands against a node of Ottla in the hub, and `kafka-run-class.sh` uses those that exist.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator

from tests.kafkatest import layout
from tests.kafkatest.hosts import DEV, Hosts

PORT = 19777
SERVER = f"localhost:{PORT}"
TOOLS = "org.apache.kafka.tools"
COMMAND_WITHIN_S = 20
COMMANDS: dict[str, str] = {
    f"{TOOLS}.TopicCommand": "--bootstrap-server {at} --create --topic t --partitions 3 "
    "--replication-factor 1",
    f"{TOOLS}.VerifiableProducer": "--bootstrap-server {at} --topic t --max-messages 20 --acks -1",
    f"{TOOLS}.consumer.ConsoleConsumer": "--bootstrap-server {at} --topic t --from-beginning "
    "--max-messages 20 --group g",
    f"{TOOLS}.VerifiableConsumer": "--bootstrap-server {at} --topic t --group-id v "
    "--max-messages 20 --reset-policy earliest",
    "kafka.admin.ConfigCommand": "--bootstrap-server {at} --describe --all --topic t",
    f"{TOOLS}.consumer.group.ConsumerGroupCommand": "--bootstrap-server {at} --describe --group g",
    f"{TOOLS}.TransactionalMessageCopier": "--broker-list {at} --input-topic t --input-partition 0 "
    "--output-topic t2 --max-messages 2 --transaction-size 1 --transactional-id a "
    "--consumer-group c",
}


def make() -> None:
    """Make the archives that are missing, and put them where the hosts see them."""
    folder = layout.archives()
    missing = [name for name in COMMANDS if not (folder / f"{name}.jsa").exists()]
    if not missing:
        return
    print("making archives of classes, once", flush=True)
    with Hosts(0, layout.WORK) as hosts, _broker(hosts):
        for name, arguments in COMMANDS.items():
            if name in missing:
                _archive(hosts, name, arguments.format(at=SERVER))
    for name in missing:
        with contextlib.suppress(FileNotFoundError):  # a JVM that was stopped too early
            os.link(layout.DEV / "archives" / f"{name}.jsa", folder / f"{name}.jsa")


def _archive(hosts: Hosts, name: str, arguments: str) -> None:
    """Run a command, and let its JVM write the archive when it ends or is interrupted."""
    option = f"-XX:ArchiveClassesAtExit={DEV}/archives/{name}.jsa"
    words = ["env", f"KAFKA_HEAP_OPTS=-Xmx256m {option}", "LOG_DIR=/tmp/kafkatest-archives"]
    words += ["timeout", "-s", "INT", str(COMMAND_WITHIN_S)]
    script = DEV / "bin" / "kafka-run-class.sh"
    subprocess.run(
        hosts.inside(*words, script, name, *arguments.split()),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@contextlib.contextmanager
def _broker(hosts: Hosts) -> Iterator[None]:
    """Run a node of Ottla in the hub."""
    ottla = (layout.DEV / "ottla").read_text().strip()
    with tempfile.TemporaryDirectory() as data:
        process = subprocess.Popen(
            hosts.inside(ottla, "serve", "--port", str(PORT), "--data", data),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if "is ready" in line:
                    break
            yield
        finally:
            process.terminate()
            process.communicate()
