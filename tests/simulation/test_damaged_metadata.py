"""Every file of the metadata of a node that is the whole quorum, damaged in every way.

Either the node starts and knows all that it knew, or the start is refused in one line that names
the folder: nothing that was decided is lost in silence. After a kill the end of the log may be
torn, and is cut, which is told. What a line says of how to go on works.
"""

from __future__ import annotations

import logging
from itertools import count

import pytest

from broker.config.start_error import StartError
from controller.metadata.records import MetadataRecordError
from controller.raft.quorum_state import QuorumStateError
from ground.memory_filesystem import MemoryFilesystem
from tests.simulation.file_damages import DAMAGE_NAMES, damage
from tests.unit.broker.node_fixture import Running

TOPICS = [f"topic-{number}" for number in range(8)]
KEYS = {"metadata.log.max.record.bytes.between.snapshots": "700"}
LIVES = count()


def started(filesystem: MemoryFilesystem) -> Running:
    return Running("/data", life=next(LIVES), filesystem=filesystem, **KEYS)


class World:
    def __init__(self, *, clean: bool) -> None:
        self.filesystem = MemoryFilesystem()
        for half in (TOPICS[:4], TOPICS[4:]):
            running = started(self.filesystem)
            for topic in half:
                assert running.create(topic) == [0]
                running.produce(topic, b"x")
            running.scheduler.run_for(7_000)
            if clean or half[0] == TOPICS[0]:
                running.stop()
            self.filesystem.kill()
            if half[0] == TOPICS[0]:
                self.earlier = self.filesystem.clone()
        self.files = [
            path
            for path, _ in self.filesystem.files()
            if "/__cluster_metadata-0/" in path or path.rpartition("/")[2] in TOP
        ]


TOP = ("meta.properties", "bootstrap.checkpoint", ".kafka_cleanshutdown", ".lock")


@pytest.fixture(scope="module")
def worlds() -> dict[bool, World]:
    return {clean: World(clean=clean) for clean in (True, False)}


@pytest.mark.long(sample=10)
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
@pytest.mark.parametrize("name", DAMAGE_NAMES)
def test_damage_is_refused_or_loses_nothing(
    worlds: dict[bool, World], name: str, clean: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    world = worlds[clean]
    for path in world.files:
        filesystem = world.filesystem.clone()
        if not damage(filesystem, path, name, world.earlier):
            continue
        caplog.clear()
        try:
            outcome = outcome_of(filesystem)
        except BaseException as error:
            error.add_note(f"{path}: {name}")
            raise
        told = [one.getMessage() for one in caplog.records]
        torn = not clean and path.endswith(".log") and any("cut off" in line for line in told)
        assert outcome in ("whole", "refused") or torn, (path, name, outcome, told)


def outcome_of(filesystem: MemoryFilesystem) -> str:
    try:
        running = started(filesystem)
    except (StartError, MetadataRecordError, QuorumStateError) as refused:
        assert str(refused).startswith("/data")
        assert "\n" not in str(refused)
        follow(str(refused), filesystem)
        return "refused"
    running.scheduler.run_for(1_000)
    known = running.node.image.topics.by_name
    lost = [topic for topic in TOPICS if topic not in known]
    there = [topic for topic in TOPICS if topic in known]
    lost += [topic for topic in there if known[topic].partitions[0].leader != 1]
    lost += [topic for topic in there if running.fetch(topic, 0).high_watermark != 1]
    return f"lost {lost}" if lost else "whole"


def follow(line: str, filesystem: MemoryFilesystem) -> None:
    """Where the line says how to go on, that is so."""
    filesystem.kill()
    if "remove it and start again" in line:
        filesystem.remove(line.partition(": ")[0])
    elif "to go on without that: " in line:
        for command in line.rpartition("to go on without that: ")[2].split(" && "):
            verb, *words = command.split(" ")
            if verb == "truncate":
                filesystem.open(words[2]).truncate(int(words[1]))
            else:
                for path in words:
                    filesystem.remove(path)
    else:
        return
    started(filesystem)
