"""Values that stand elsewhere, as a running Kafka fills them in."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from broker.config.security.config_providers import with_variables_resolved
from ground.config_def import ConfigError

PACKAGE = "org.apache.kafka.common.config.provider"
PROVIDERS = {
    "config.providers": "file,env, dir",
    "config.providers.file.class": f"{PACKAGE}.FileConfigProvider",
    "config.providers.env.class": f"{PACKAGE}.EnvVarConfigProvider",
    "config.providers.dir.class": f"{PACKAGE}.DirectoryConfigProvider",
}
FILES = {
    "/p.properties": "k=vv\nl=ww\nref=${env:NAME}\nc\\:d=colon\nml=a\\nb\nempty=\n",
    "/d/f": "fv",
    "/d/nl": "nl\n",
}


class Places:
    def __init__(self) -> None:
        self.read_paths: list[str] = []

    def read(self, path: str) -> str:
        self.read_paths.append(path)
        if path not in FILES:
            raise FileNotFoundError(2, "No such file or directory", path)
        return FILES[path]

    def exists(self, path: str) -> bool:
        return path in ("/", "/d", "/p.properties")

    def variable(self, name: str) -> str | None:
        return {"NAME": "envv"}.get(name)


def filled(text: str, **params: str) -> str:
    texts = {**PROVIDERS, "a": text}
    for name, value in params.items():
        provider, _, param = name.partition("_")
        texts[f"config.providers.{provider}.param.{param.replace('_', '.')}"] = value
    return with_variables_resolved(texts, Places())["a"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${file:/p.properties:k}", "vv"),
        ("x${file:/p.properties:k}y${file:/p.properties:l}z", "xvvywwz"),
        ("${file:/p.properties:c:d}", "colon"),
        ("${file:/p.properties:ml}", "a\nb"),
        ("${file:/p.properties:empty}", ""),
        ("${file:/d/../p.properties:k}", "vv"),
        ("${file:/p.properties:ref}", "${env:NAME}"),
        ("${env:NAME}", "envv"),
        ("${env::NAME}", "envv"),
        ("$${env:NAME}", "$envv"),
        ("${dir:/d:f}", "fv"),
        ("${dir:/d:nl}", "nl\n"),
        ("${}", "${}"),
        ("${file:/p.properties:k", "${file:/p.properties:k"),
        ("RULE:^CN=(.*)$/$1/,DEFAULT", "RULE:^CN=(.*)$/$1/,DEFAULT"),
    ],
)
def test_places_that_kafka_fills_in(text: str, value: str) -> None:
    assert filled(text) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("${file:/p.properties:nope}", "the file has no such key"),
        ("${file:/nope:k}", "No such file or directory"),
        ("${file:k}", "write it as ${file:/path/of/a/file:key}"),
        ("${env:NOPE}", "there is no such environment variable"),
        ("${env:some:NAME}", "write it as ${env:NAME}"),
        ("${dir:/d:nope}", "No such file or directory"),
        ("${dir:/d:../p.properties}", "name a file of the folder"),
        ("${dir:f}", "write it as ${dir:/path/of/a/folder:file}"),
        ("hush${vault:x:y}hush", "names a provider that config.providers (file, env, dir) lacks"),
    ],
)
def test_a_place_that_cannot_be_filled_stops_a_start(text: str, why: str) -> None:
    """Kafka would take the text as it is, also as a password."""
    with pytest.raises(ConfigError) as refused:
        filled(text)
    assert refused.value.name == "a"
    assert why in str(refused.value)
    assert "hush" not in str(refused.value)


def test_params_limit_what_is_read() -> None:
    assert filled("${file:/p.properties:k}", file_allowed_paths="/d,/p.properties") == "vv"
    assert filled("${file:/p.properties:k}", file_allowed_paths="") == "vv"
    assert filled("${dir:/d:f}", dir_allowed_paths="/d") == "fv"
    assert filled("${env:NAME}", env_allowlist_pattern="NA.*") == "envv"
    for text, params, why in (
        ("${file:/p.properties:k}", {"file_allowed_paths": "/d"}, "not below the allowed.paths"),
        ("${file:/d/../p.properties:k}", {"file_allowed_paths": "/d"}, "not below the allowed"),
        ("${file:/p.properties:k}", {"file_allowed_paths": "d"}, "Path d is not absolute"),
        ("${file:/p.properties:k}", {"file_allowed_paths": "/no"}, "Path /no does not exist"),
        ("${env:NAME}", {"env_allowlist_pattern": "NA"}, "allowlist.pattern of env does not"),
        ("${env:NAME}", {"env_allowlist_pattern": "("}, "allowlist.pattern: "),
    ):
        with pytest.raises(ConfigError, match=why):
            filled(text, **params)


def test_a_file_is_read_once() -> None:
    places = Places()
    texts = {**PROVIDERS, "a": "${file:/p.properties:k}", "b": "${file:/p.properties:l}"}
    assert with_variables_resolved(texts, places)["b"] == "ww"
    assert places.read_paths == ["/p.properties"]


def test_without_providers_nothing_is_a_place() -> None:
    texts = {"a": "${file:/p.properties:k}"}
    assert with_variables_resolved(texts, Places()) == texts


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"config.providers.file.class": "com.acme.Vault"}, "com.acme.Vault: Java classes cannot"),
        ({"config.providers.file.class": ""}, "config.providers.file.class is not set"),
    ],
)
def test_a_class_of_somebody_else_is_refused(changes: Mapping[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        with_variables_resolved({**PROVIDERS, **changes}, Places())
