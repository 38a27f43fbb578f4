"""Values that stand elsewhere: `${provider:path:key}` in a value, by Kafka's config providers.

Texts in, texts with every such place filled in out. Files and environment variables are read by
what the shell gives (`broker.config.file`). A value that was found is never looked through again,
and never stands in an error.

Follows KIP-297, KIP-421, KIP-887 (environment), KIP-993 (`allowed.paths`), and which places a
running Kafka 4.3 fills in. Kafka leaves a place as it is where a key, a variable or a provider is
missing; a password would then be `${...}`, so here it stops a start.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from broker.config.properties import PropertiesError, parse_properties
from ground.config_def import ConfigError

PROVIDERS = "config.providers"
_PLACE = re.compile(r"\$\{([^:}]*):(?:([^:}]*):)?([^}]*)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."


class Places(Protocol):
    """What a machine has."""

    def read(self, path: str) -> str:
        """The text of a file; OSError."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder."""

    def variable(self, name: str) -> str | None:
        """Of the environment."""


@dataclass(slots=True)
class _Provider:
    """One of `config.providers`."""

    name: str
    kind: str
    """Its class without the package."""
    allowed_paths: tuple[str, ...] = ()
    """Below these only; empty: anywhere."""
    allowed_names: re.Pattern[str] | None = None
    files: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """What was read, so that each file is read once."""


def with_places_filled(texts: Mapping[str, str], places: Places) -> dict[str, str]:
    """`texts` with what the places in its values stand for. Raises ConfigError."""
    names = [one.strip() for one in texts.get(PROVIDERS, "").split(",") if one.strip()]
    if not names:
        return dict(texts)
    providers = {name: _provider(name, texts, places) for name in names}
    return {
        name: text if _is_of_providers(name) else _filled(name, text, providers, places)
        for name, text in texts.items()
    }


def _is_of_providers(name: str) -> bool:
    return name == PROVIDERS or name.startswith(f"{PROVIDERS}.")


def _provider(name: str, texts: Mapping[str, str], places: Places) -> _Provider:
    key = f"{PROVIDERS}.{name}.class"
    given = texts.get(key, "").strip()
    kind = given.removeprefix(_PACKAGE)
    if kind not in _GETTERS or not given.startswith(_PACKAGE):
        served = ", ".join(f"{_PACKAGE}{one}" for one in _GETTERS)
        why = f"{key}={given}: Java classes cannot be loaded" if given else f"{key} is not set"
        raise ConfigError(key, f"{why}; there are {served}")
    provider = _Provider(name, kind)
    paths_key = f"{PROVIDERS}.{name}.param.allowed.paths"
    provider.allowed_paths = tuple(
        _allowed_path(paths_key, one.strip(), places)
        for one in texts.get(paths_key, "").split(",")
        if one.strip()
    )
    pattern_key = f"{PROVIDERS}.{name}.param.allowlist.pattern"
    if pattern_key in texts:
        try:
            provider.allowed_names = re.compile(texts[pattern_key])
        except re.error as error:
            raise ConfigError(pattern_key, f"{pattern_key}: {error}") from None
    return provider


def _allowed_path(key: str, path: str, places: Places) -> str:
    if not path.startswith("/"):
        raise ConfigError(key, f"{key}: Path {path} is not absolute")
    if not places.exists(path):
        raise ConfigError(key, f"{key}: Path {path} does not exist")
    return posixpath.normpath(path)


def _filled(name: str, text: str, providers: Mapping[str, _Provider], places: Places) -> str:
    def found(match: re.Match[str]) -> str:
        provider = providers.get(match[1])
        if provider is None:
            known = ", ".join(providers)  # the value may be a password: no piece of it
            text = f"{name}: a ${{...}} in it names a provider that {PROVIDERS} ({known}) lacks"
            raise ConfigError(name, text)
        try:
            return _GETTERS[provider.kind](provider, match[2] or "", match[3], places)
        except _NotFound as reason:
            raise ConfigError(name, f"{name}: {match[0]}: {reason}") from None

    return _PLACE.sub(found, text)


class _NotFound(Exception):
    """Why a place cannot be filled."""


def _of_file(provider: _Provider, path: str, key: str, places: Places) -> str:
    if not path:
        raise _NotFound(f"write it as ${{{provider.name}:/path/of/a/file:key}}")
    if path not in provider.files:
        try:
            provider.files[path] = parse_properties(_read(provider, path, places))
        except PropertiesError as error:
            raise _NotFound(str(error)) from None
    values = provider.files[path]
    if key not in values:
        raise _NotFound("the file has no such key")
    return values[key]


def _of_directory(provider: _Provider, path: str, key: str, places: Places) -> str:
    if not path:
        raise _NotFound(f"write it as ${{{provider.name}:/path/of/a/folder:file}}")
    if key in ("", ".", "..") or "/" in key:
        raise _NotFound("name a file of the folder")
    return _read(provider, f"{path}/{key}", places)


def _read(provider: _Provider, path: str, places: Places) -> str:
    plain = posixpath.normpath(path)
    below = [one for one in provider.allowed_paths if f"{plain}/".startswith(f"{one.rstrip('/')}/")]
    if provider.allowed_paths and not below:
        raise _NotFound(f"it is not below the allowed.paths of {provider.name}")
    try:
        return places.read(plain)
    except OSError as error:
        raise _NotFound(error.strerror or "it cannot be read") from None


def _of_environment(provider: _Provider, path: str, key: str, places: Places) -> str:
    if path:
        raise _NotFound(f"write it as ${{{provider.name}:NAME}}")
    allowed = provider.allowed_names
    if allowed is not None and not allowed.fullmatch(key):
        raise _NotFound(f"the allowlist.pattern of {provider.name} does not match it")
    value = places.variable(key)
    if value is None:
        raise _NotFound("there is no such environment variable")
    return value


_GETTERS: dict[str, Callable[[_Provider, str, str, Places], str]] = {
    "FileConfigProvider": _of_file,
    "EnvVarConfigProvider": _of_environment,
    "DirectoryConfigProvider": _of_directory,
}
