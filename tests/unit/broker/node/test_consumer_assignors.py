"""Which assignors a node has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.config.parse import single_node_config
from broker.groups.consumer.assignors.assignors import Assignors
from broker.node.consumer_assignors import assignors_of_node
from broker.plugins.node_plugins import NodePlugins
from broker.testing.simulation.sim_scheduler import SimBlocking, SimScheduler
from controller.metadata.image import MetadataImage
from storage.config_def import ConfigError
from storage.log.sliced_work import SlicedWork

JAVA = "org.apache.kafka.coordinator.group.assignor"
MODULE = """
from ottla.plugins.assignor import ConsumerGroupAssignor

class Mine(ConsumerGroupAssignor):
    name = "mine"
    def configure(self, settings):
        self.name += settings.get("plugin.suffix", "")
    def assign(self, members, topics):
        return {}

class Nameless(Mine):
    name = ""

class Uniform(Mine):
    name = "uniform"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    path = list(sys.path)
    (tmp_path / "ottla_test_assignors.py").write_text(MODULE)
    yield tmp_path
    sys.path[:] = path
    sys.modules.pop("ottla_test_assignors", None)


def _made(folder: Path, text: str | None, **more: str) -> Assignors:
    texts = {"ottla.plugins.path": str(folder), **more}
    if text is not None:
        texts["group.consumer.assignors"] = text
    config = single_node_config(texts)
    scheduler = SimScheduler()
    blocking = SimBlocking(scheduler)
    plugins = NodePlugins(config, scheduler, blocking) if ":" in (text or "") else None
    work = SlicedWork(scheduler, blocking, 1)
    return assignors_of_node(config, plugins, work, MetadataImage)


def test_kafkas_two_are_there_and_uniform_is_the_default(folder: Path) -> None:
    assignors = _made(folder, None)
    assert assignors.names == ["uniform", "range"]
    assert assignors.default == "uniform"


def test_the_list_says_which_there_are_and_which_is_first(folder: Path) -> None:
    assert _made(folder, f"{JAVA}.RangeAssignor").names == ["range"]
    made = _made(folder, "ottla_test_assignors:Mine, uniform", **{"plugin.suffix": "-2"})
    assert made.names == ["mine-2", "uniform"]
    assert made.default == "mine-2"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sticky", "Java classes cannot be loaded"),
        (f"uniform,{JAVA}.UniformAssignor", "names uniform twice"),
        ("ottla_test_assignors:Nothing", "has no Nothing"),
        ("ottla_test_assignors:Nameless", "has no name"),
        ("uniform,ottla_test_assignors:Uniform", "calls itself uniform, as another one does"),
        ("builtins:int", "is no subclass of ottla.plugins.assignor.ConsumerGroupAssignor"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(folder: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        _made(folder, text)
    assert "\n" not in str(refused.value)
    assert "group.consumer.assignors" in str(refused.value)
