"""Configs as rows: sources, documentation, and that secrets stay hidden."""

from __future__ import annotations

from typing import Any

from client.configs.settings import BROKER, TOPIC
from console.configs.rows import VALUE_CHARACTERS_MAX, rows
from protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsSynonym,
)
from tests.unit.console.one_console import plain

SECRET = "ssl.keystore.password"


def row(kind: int = TOPIC, **fields: Any) -> dict[str, Any]:
    known: dict[str, Any] = {"name": "retention.ms", "value": "1", "config_source": 1}
    (found,) = plain(rows(kind, [DescribeConfigsResourceResult(**(known | fields))]))
    return found


def test_where_a_value_comes_from_and_what_lies_below_it() -> None:
    synonyms = [
        DescribeConfigsSynonym("retention.ms", "1", 1),
        DescribeConfigsSynonym("log.retention.ms", "2", 4),
    ]
    found = row(synonyms=synonyms, config_type=5)
    assert (found["source"], found["type"], found["is_default"]) == ("topic", "long", False)
    assert found["synonyms"][1] == {"key": "log.retention.ms", "value": "2", "source": "file"}
    assert row(config_source=5)["is_default"]


def test_the_clusters_own_words_come_first() -> None:
    own = row(documentation="What the cluster says.")
    assert (own["documentation"], own["by_ottla"]) == ("What the cluster says.", False)
    ours = row(documentation=None)
    assert ours["by_ottla"]
    assert ours["documentation"]
    assert row(name="no.such.key", documentation=None)["documentation"] is None


def test_documentation_in_html_is_told_in_its_words() -> None:
    text = (
        "The <i>minimum</i> of <code>a &lt; b</code>.<br>Or:<ul><li>x</li><li class='y'>z</li></ul>"
    )
    assert row(documentation=text)["documentation"] == "The minimum of a < b. Or: • x • z"
    assert row(documentation="1 < 2 and 3 > 2")["documentation"] == "1 < 2 and 3 > 2"


def test_a_secret_is_never_shown_whatever_the_broker_sends() -> None:
    synonyms = [DescribeConfigsSynonym(SECRET, "hunter2", 4)]
    for fields in (
        {"name": SECRET, "is_sensitive": True},
        {"name": SECRET, "is_sensitive": False},
        {"name": "anything", "config_type": 9},
    ):
        found = row(BROKER, value="hunter2", synonyms=synonyms, **fields)
        assert found["secret"]
        assert "hunter2" not in str(found)


def test_a_key_of_another_version_is_no_secret_unless_its_broker_says_so() -> None:
    assert row(BROKER, name="auto.include.jmx.reporter", value="true")["value"] == "true"
    assert row(BROKER, name="some.key", value="x", is_sensitive=True)["value"] is None


def test_a_long_value_is_cut() -> None:
    assert len(str(row(value="x" * 10_000)["value"])) == VALUE_CHARACTERS_MAX + 2
