"""conf/server.properties has every served key on a line of its own, with its real default.

conf/broker-1..3.properties are three nodes of one cluster, with the keys that such nodes need.
"""

from __future__ import annotations

import re

import pytest

from broker.config.keys import BROKER_CONFIG_DEF, OTTLA_CONFIG_DEF
from broker.config.parse import parse_config
from broker.config.properties import parse_properties
from broker.config.single_node_profile import SINGLE_NODE_PROFILE
from broker.config.support import SERVED
from command.cluster_layout import new_layout
from tests.architecture.sources import ROOT

TEXT = (ROOT / "conf" / "server.properties").read_text()
SET = parse_properties(TEXT)
SHOWN = dict(re.findall(r"^#([a-z][a-z0-9.]+)=(.*)$", TEXT, re.MULTILINE))
# Consequences of a node that is its own controller, not differing defaults.
WHERE_THE_CONTROLLER_IS = (
    "controller.quorum.voters",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
)


def test_it_is_a_configuration_that_starts_without_a_warning() -> None:
    config = parse_config(SET)
    assert config.warnings == ()
    assert config.listeners[0].host == "localhost"


def test_every_served_key_is_there_once() -> None:
    assert [name for name in SERVED if name not in {**SET, **SHOWN}] == []
    assert [name for name in SHOWN if name in SET] == []


def test_a_commented_line_shows_the_default() -> None:
    wrong = {
        name: shown
        for name, shown in SHOWN.items()
        if shown != (BROKER_CONFIG_DEF[name].default or "")
    }
    assert wrong == {}


@pytest.mark.parametrize("name", ["server", "broker-1", "broker-2", "broker-3"])
def test_every_key_has_one_line_of_comment_above_it(name: str) -> None:
    lines = (ROOT / "conf" / f"{name}.properties").read_text().splitlines()
    assert any(re.match("node.id=", line) for line in lines)
    for number, line in enumerate(lines):
        if re.match(r"#?[a-z][a-z0-9.]+=", line):
            assert re.match(r"# [A-Z/a-z]", lines[number - 1]), line
            assert lines[number - 2] == "", line


def test_the_three_nodes_are_one_cluster() -> None:
    """Compare with the files that `ottla cluster` writes, for folders beside the checkout."""
    layout = new_layout(3)
    for node in layout.nodes:
        text = (ROOT / "conf" / f"broker-{node.node_id}.properties").read_text()
        folder = f"cluster-data/broker-{node.node_id}"
        assert parse_properties(text) == parse_properties(layout.properties(node, folder))
        assert parse_config(parse_properties(text)).warnings == ()
        assert f"conf/broker-{node.node_id}.properties --cluster-id" in text
        of_one_node = SINGLE_NODE_PROFILE["log.dirs"]
        assert not folder.startswith(f"{of_one_node}/"), "a node lives in another one's data folder"


def test_the_table_of_differing_defaults_is_whole() -> None:
    """Look for Ottla's keys, and those of the profile with another value than Kafka's default."""
    text = (ROOT / "docs" / "differences.md").read_text()
    differing = [
        name
        for name, value in SINGLE_NODE_PROFILE.items()
        if not BROKER_CONFIG_DEF[name].required
        and name not in WHERE_THE_CONTROLLER_IS
        and value != BROKER_CONFIG_DEF[name].default
    ]
    assert [name for name in (*differing, *OTTLA_CONFIG_DEF) if f"`{name}`" not in text] == []
