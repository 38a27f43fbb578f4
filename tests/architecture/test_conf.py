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
from broker.config.support import _REFUSED, SERVED, ignored_keys
from command.cluster_layout import new_layout
from ground.config_def import ConfigError
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


def test_a_comment_says_that_a_key_has_no_effect_exactly_if_a_start_says_so() -> None:
    """Compare comments with warnings: a comment may be older than the code."""
    comments = re.findall(r"^# ([^\n]+)\n#?([a-z][a-z0-9.]+)=", TEXT, re.MULTILINE)
    claims = {
        key
        for comment, key in comments
        if re.match(r"No effect|For tiered storage, which is not supported|.*not done", comment)
    }
    warned = {
        name
        for name in SERVED
        for line in ignored_keys({name: "123"})
        if "has no effect yet" in line
    }
    assert claims == warned


def test_the_head_names_all_that_stops_a_start() -> None:
    head = TEXT[: TEXT.index("# ---")].replace("\n# ", " ")
    for reason in _REFUSED.values():
        assert re.split(" cannot | is | are ", reason)[0] in head
    assert "ACLs" not in head and "plug-ins" not in head, "they are served"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ssl.engine.factory.class", "com.example.Factory"),
        ("remote.log.storage.system.enable", "true"),
        ("transaction.two.phase.commit.enable", "true"),
        ("no.such.key", "1"),
    ],
)
def test_these_keys_stop_the_start_as_its_head_says(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(key)):
        parse_config({**SET, key: value})


def test_other_keys_of_kafka_are_ignored_with_a_warning_as_its_head_says() -> None:
    (warning,) = parse_config({**SET, "metrics.num.samples": "3"}).warnings
    assert "is ignored" in warning


@pytest.mark.parametrize("key", ["authorizer.class.name", "create.topic.policy.class.name"])
def test_acls_and_plug_ins_are_served(key: str) -> None:
    assert parse_config({**SET, key: "package.module:Class"}).warnings == ()


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
