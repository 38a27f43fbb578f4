"""`ottla format` beside Kafka's `kafka-storage format`: the same options, the same metadata.

Both get each choice of `--release-version`, `--feature` and `--add-scram`. Where Kafka formats a
folder, Ottla does, with the same levels of all features that it serves; where Kafka refuses, Ottla
does, with Kafka's text in its line. Levels that only the newer of the two has are left out.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from command.cli import run_cli
from controller.decisions.feature_control import INITIAL_FEATURES, KEPT_FEATURES
from controller.metadata.records import MetadataRecord
from controller.metadata.snapshot import decode_snapshot
from controller.metadata.version import LATEST_LEVEL, LEVELS
from protocol.messages.metadata_records import FeatureLevelRecord
from tests.tools.kafka_release import RELEASE
from tests.tools.kafka_tools import KafkaTools, ToolResult

pytestmark = pytest.mark.java

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
USER = "SCRAM-SHA-256=[name=alice,password=secret]"
RELEASES = (
    *LEVELS,
    *("3.3", "3.4", "3.9", "4.0", "4.1", "4.2"),
    *("4.2.0", "4.2.7", "4.2.0-IV0", "4.2.0-SNAPSHOT", "4.2..1", "4.2-IV0.1", "4.2.1.2"),
)
NO_RELEASES = (
    *("4.2-IV9", "3.3-IV2", "3.2", "2.8", "0.10.2", "9.9", "4", "", " 4.2", "4.2 ", "4.2-iv0"),
    *("v4.2", "4.2-SNAPSHOT", "30", "4.2.", "4.2..", ".4.2", "4..3"),
)
NEWEST = RELEASE.rpartition(".")[0]
"""The release of choices that name none: the newest levels of the two sides may differ."""

LEVELS_OF_FEATURES = {
    "group": (-1, 0, 1, 9, 32767),
    "transaction": (-1, 0, 1, 2, 9),
    "eligible.leader.replicas": (-1, 0, 1, 9),
    "share": (-1, 0, 1, 9),
    "streams": (-1, 0, 1, 9),
    "kraft": (-1, 0, 1, 2),
    "unknown": (0, 1),
}
OLD_RELEASES = ("3.3", "3.9", "4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0", "4.1", "4.2")
METADATA_LEVELS = (-1, 0, 1, 6, 7, 10, 11, 21, 22, 23, 24, 25, 26, 29, 30, 99)

Choice = tuple[str, ...]


def release(text: str, *others: str) -> Choice:
    return ("-r", text, *features(*others))


def features(*texts: str) -> Choice:
    return tuple(word for text in texts for word in ("-f", text))


CHOICES: tuple[Choice, ...] = (
    *(release(text) for text in (*RELEASES, *NO_RELEASES)),
    ("-r", "4.2", "-r", "4.1"),
    ("--release-version", "4.2", "--feature", "group.version=0"),
    *(features(f"metadata.version={level}") for level in METADATA_LEVELS),
    *(
        release(NEWEST, f"{name}.version={level}")
        for name, levels in LEVELS_OF_FEATURES.items()
        for level in levels
    ),
    *(
        release(old, f"{name}.version={level}")
        for old in OLD_RELEASES
        for name in ("group", "transaction", "eligible.leader.replicas", "share", "streams")
        for level in (0, 1)
    ),
    # What is refused first.
    release(NEWEST, "metadata.version=30"),
    release("9.9", "group.version"),
    release("9.9", "metadata.version=30"),
    release(NEWEST, "metadata.version=30", "unknown=1"),
    release(NEWEST, "zeta=1", "alpha=1"),
    release(NEWEST, "kraft.version=1", "alpha=1"),
    release(NEWEST, "kraft.version=1", "eligible.leader.replicas.version=9"),
    release(NEWEST, "transaction.version=9", "group.version=9"),
    release("3.9", "share.version=9", "eligible.leader.replicas.version=1"),
    features("metadata.version=99", "alpha=1"),
    features("metadata.version=22", "eligible.leader.replicas.version=1"),
    # Forms of a level.
    *(
        release(NEWEST, text)
        for text in (
            *("group.version", "", "=1", "group.version=", "group.version=x", "group.version=1.0"),
            *("group.version=1=1", "group.version=32768", "group.version=1,share.version=1"),
            *("group.version= 0", " group.version=0", "group.version =0", "group.version=+0"),
            *("group.version=00", "group.version=-0", "group.version=０"),
        )
    ),
    release(NEWEST, "group.version=1", "group.version=0"),
    release(NEWEST, "group.version=0", "group.version=1"),
    features("metadata.version=29", "metadata.version=30"),
    release(NEWEST, *(f"{name}.version=0" for name in ("group", "transaction", "share"))),
    # Users.
    ("-r", "3.4", "--add-scram", USER),
    ("-r", "3.5-IV1", "--add-scram", USER),
    ("-r", "3.5-IV2", "--add-scram", USER),
    ("-r", "3.4", "--add-scram", "nonsense"),
    ("-r", NEWEST, "-f", "group.version=9", "--add-scram", "nonsense"),
    ("-r", NEWEST, "--add-scram", USER),
)


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    with KafkaTools("") as running:
        yield running


def write_config(folder: Path) -> Path:
    """Return the file of a node that is a static quorum of its own, with its data in a subfolder of
    `folder`."""
    file = folder / "node.properties"
    file.write_text(
        "node.id=1\nprocess.roles=broker,controller\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093\n"
        f"controller.quorum.voters=1@localhost:9093\nlog.dirs={folder / 'data'}\n"
    )
    return file


def first_records(folder: Path) -> list[MetadataRecord] | None:
    """Return the records of a formatted folder. From 4.4 on, Kafka writes them into the metadata
    log. None if the folder is not formatted."""
    data = folder / "data"
    if not (data / "meta.properties").exists():
        return None
    places = [data / "bootstrap.checkpoint", *data.glob("__cluster_metadata-0/*.checkpoint")]
    (file,) = (place for place in places if place.exists())
    return decode_snapshot(file.read_bytes()).records


def levels(records: list[MetadataRecord] | None) -> list[tuple[str, int]] | None:
    """Return the levels in the order of their records."""
    if records is None:
        return None
    found = [record for record in records if isinstance(record, FeatureLevelRecord)]
    return [(record.name, record.feature_level) for record in found]


def of_both(kafkas: list[tuple[str, int]] | None, choice: Choice) -> list[tuple[str, int]] | None:
    """Return Kafka's levels without those that Ottla leaves at 0 unless they are chosen."""
    if kafkas is None:
        return None
    by_default = KEPT_FEATURES.keys() - INITIAL_FEATURES.keys()
    chosen = " ".join(choice)
    return [(name, level) for name, level in kafkas if name not in by_default or name in chosen]


def text_of(refused: ToolResult) -> str:
    """Return what Kafka says, in which a bug's first line has the class of an exception."""
    (line, *_) = (line for line in refused.stderr.splitlines() if line.strip())
    return re.sub(r"^[a-z.]+(\.[A-Z]\w+)+: ", "", line)


def comparable(text: str) -> str:
    """Return a text without what differs: options that Ottla lacks, and the newest levels. Ottla
    prints one space between words."""
    text = " ".join(text.split())
    text = re.sub(r"(unless|if) (controller.quorum.voters is empty).*", r"\1 \2", text)
    text = re.sub(r"(Supported metadata.version are: .*?4\.3-IV0).*", r"\1", text)
    return re.sub(r"(levels are from 7 to) \d+.*", r"\1", text)


@pytest.mark.long(sample=60)
@pytest.mark.parametrize("choice", CHOICES, ids=" ".join)
def test_a_choice_has_the_same_outcome(
    choice: Choice, tools: KafkaTools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [tmp_path / name for name in ("kafka", "ottla")]
    for side in sides:
        side.mkdir()
    config = str(write_config(sides[0]))
    kafka = tools.run("kafka-storage", "format", "-t", CLUSTER, "-c", config, *choice)
    words = ["format", "--cluster-id", CLUSTER, "--config", str(write_config(sides[1])), *choice]
    code = run_cli(words)
    said = capsys.readouterr().err
    records = [first_records(side) for side in sides]
    if kafka.exit == 0 and max(level for _, level in levels(records[0]) or ()) > LATEST_LEVEL:
        pytest.skip("a level that Ottla does not have yet")
    assert levels(records[1]) == of_both(levels(records[0]), choice), (kafka, said)
    assert (code == 0) == (kafka.exit == 0)
    if code:
        assert code == 2 and said.count("\n") == 1
        assert comparable(text_of(kafka)) in comparable(said)
        assert records[1] is None and "secret" not in said
    else:
        assert [type(record) for record in records[1] or ()].count(FeatureLevelRecord) == len(
            levels(records[1]) or ()
        )
        users = [sum("Scram" in type(record).__name__ for record in some or ()) for some in records]
        assert users == [USER in choice] * 2


def test_what_is_formatted_stays_as_it_is(tools: KafkaTools, tmp_path: Path) -> None:
    """With `--ignore-formatted` only; a folder of another cluster or node is refused with it."""
    config = write_config(tmp_path)
    more = tmp_path / "more.properties"
    more.write_text(config.read_text().strip() + f",{tmp_path / 'new'}\n")

    def both(*options: str, file: Path = more, cluster: str = CLUSTER) -> list[bool]:
        """Return whether each side succeeds; a folder that it formats is removed again."""
        outcomes = []
        tool = ("format", "-t", cluster, "-c", str(file), *options)
        words = ["format", "--cluster-id", cluster, "--config", str(file), *options]
        for ask in (lambda: tools.run("kafka-storage", *tool).exit, lambda: run_cli(words)):
            new = tmp_path / "new"
            outcomes.append(ask() == 0)
            assert new.exists() is outcomes[-1] or file == config
            if new.exists():
                assert f"cluster.id={CLUSTER}\n" in (new / "meta.properties").read_text()
                shutil.rmtree(new)
        return outcomes

    assert run_cli(["format", "--cluster-id", CLUSTER, "--config", str(config)]) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir()}
    assert both() == [False, False]
    assert both("-g") == [True, True]
    assert both("--ignore-formatted", "-f", "group.version=0") == [True, True]
    assert both("-g", "-f", "group.version=9") == [False, False]
    assert both("-g", cluster="AAAAAAAAAAAAAAAAAAAAAQ") == [False, False]
    assert both("-g", "-f", "group.version=0", file=config) == [True, True]
    assert both("-f", "group.version=0", file=config) == [False, False]
    assert both("-g", cluster="AAAAAAAAAAAAAAAAAAAAAQ", file=config) == [False, False]
    assert {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir()} == before
