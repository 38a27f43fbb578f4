"""How a class is named, and which names are refused."""

from __future__ import annotations

import pytest

from broker.config.authorizer import STANDARD_AUTHORIZER
from broker.config.parse import parse_config, single_node_config
from broker.config.plugins import (
    BUILT_IN,
    DEFAULT_PRINCIPAL_BUILDER,
    PythonClass,
    names_python_class,
    python_class,
)
from broker.config.values import shown
from ground.config_def import ConfigError


@pytest.mark.parametrize("key", BUILT_IN)
@pytest.mark.parametrize("text", ["", "  ", None])
def test_nothing_names_nothing(key: str, text: str | None) -> None:
    assert python_class(key, text) is None


@pytest.mark.parametrize("key", BUILT_IN)
def test_a_python_class_is_a_module_and_a_name(key: str) -> None:
    found = python_class(key, " acme.rights:Rights.Inner ")
    assert found == PythonClass(key, "acme.rights", "Rights.Inner")
    assert str(found) == "acme.rights:Rights.Inner"


@pytest.mark.parametrize("key", BUILT_IN)
@pytest.mark.parametrize("text", ["a.b.C", "kafka.security.authorizer.AclAuthorizer", "Rights"])
def test_a_java_class_is_refused_by_its_name(key: str, text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        python_class(key, text)
    line = str(refused.value)
    assert line.startswith(f"{key}={text}: Java classes cannot be loaded; ")
    assert all(name in line for name in BUILT_IN[key])


@pytest.mark.parametrize("text", [":C", "a:", "a:b:c", "a b:C", "a..b:C", "a/b.py:C", "1a:C"])
def test_what_is_no_name_is_told_how_to_write_one(text: str) -> None:
    with pytest.raises(ConfigError, match="write a Python class as package.module:Class"):
        python_class("authorizer.class.name", text)


def test_kafkas_own_names_mean_what_is_built_in() -> None:
    texts = {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "principal.builder.class": DEFAULT_PRINCIPAL_BUILDER,
    }
    config = single_node_config(texts)
    assert not names_python_class(config.originals)
    assert all(one.principal_builder is None for one in config.listener_security.values())


@pytest.mark.parametrize("name", [*BUILT_IN, "listener.name.plaintext.principal.builder.class"])
def test_each_key_is_looked_at_when_the_configuration_is_made(name: str) -> None:
    with pytest.raises(ConfigError, match="Java classes cannot be loaded"):
        single_node_config({name: "a.B"})
    assert names_python_class(single_node_config({name: "a:B"}).originals)


def test_a_listeners_own_builder_is_nearer() -> None:
    texts = {
        "principal.builder.class": "a:All",
        "listener.name.plaintext.principal.builder.class": "a:Own",
    }
    security = single_node_config(texts).listener_security
    assert str(security["PLAINTEXT"].principal_builder) == "a:Own"
    assert str(security["CONTROLLER"].principal_builder) == "a:All"


def test_a_plug_ins_own_settings_are_taken_and_not_shown() -> None:
    config = single_node_config({"plugin.acme.password": "hush"})
    assert config.originals["plugin.acme.password"] == "hush"
    assert config.warnings == ()
    assert "hush" not in repr(config.originals) and "hush" not in shown("plugin.acme.x", "hush")
    with pytest.raises(ConfigError, match="unknown configuration key"):
        parse_config({"plugins.acme": "x"})
