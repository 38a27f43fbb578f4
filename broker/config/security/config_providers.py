"""Variables in values, `${provider:path:key}`, which Kafka's config providers replace.

Takes texts and returns them with every variable replaced. The caller reads files and environment
variables (`broker.config.file`). A value of a variable is never searched for variables again, and
is never part of an error.

Follows KIP-297, KIP-421, KIP-887 (environment), KIP-993 (`allowed.paths`), and which variables a
running Kafka replaces. Kafka leaves a variable unchanged if its key, environment variable or
provider is missing; a password would then be `${...}`, so here the start fails.
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
_VARIABLE = re.compile(r"\$\{([^:}]*):(?:([^:}]*):)?([^}]*)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."


class Platform(Protocol):
    """The files and environment variables of a machine."""

    def read(self, path: str) -> str:
        """Return the text of a file. Raises OSError."""

    def exists(self, path: str) -> bool:
        """Return whether there is a file or a folder."""

    def variable(self, name: str) -> str | None:
        """Return the value of an environment variable; None if it is not set."""


@dataclass(slots=True)
class _Provider:
    """A provider of `config.providers`."""

    name: str
    kind: str
    """The name of its class without the package."""
    allowed_paths: tuple[str, ...] = ()
    """The paths below which files may be read; if empty, anywhere."""
    allowed_names: re.Pattern[str] | None = None
    files: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """The files that have been read, so that each is read once."""


def with_variables_resolved(texts: Mapping[str, str], platform: Platform) -> dict[str, str]:
    """Return `texts` with the variables in their values replaced, unchanged without
    `config.providers`. Raises ConfigError."""
    names = [name.strip() for name in texts.get(PROVIDERS, "").split(",") if name.strip()]
    if not names:
        return dict(texts)
    providers = {name: _provider(name, texts, platform) for name in names}
    return {
        name: text if _is_of_providers(name) else _with_variables(name, text, providers, platform)
        for name, text in texts.items()
    }


def class_key(provider_name: str) -> str:
    """Return the key that names the class of a provider."""
    return f"{PROVIDERS}.{provider_name}.class"


def check_provider_class(key: str, class_name: str) -> None:
    """Raise ConfigError if a provider's key names a class that is not in PROVIDER_CLASSES."""
    if class_name in PROVIDER_CLASSES:
        return
    why = (
        f"{key}={class_name}: Java classes cannot be loaded" if class_name else f"{key} is not set"
    )
    raise ConfigError(key, f"{why}; there are {', '.join(PROVIDER_CLASSES)}")


def _is_of_providers(name: str) -> bool:
    """Return whether the key configures a provider, so that its value has no variables."""
    return name == PROVIDERS or name.startswith(f"{PROVIDERS}.")


def _provider(name: str, texts: Mapping[str, str], platform: Platform) -> _Provider:
    """Return the provider that these keys configure.

    Raises ConfigError for an unknown class, a path that is not an existing absolute path, or a
    wrong pattern.
    """
    key = class_key(name)
    class_name = texts.get(key, "").strip()
    check_provider_class(key, class_name)
    provider = _Provider(name, class_name.removeprefix(_PACKAGE))
    paths_key = f"{PROVIDERS}.{name}.param.allowed.paths"
    provider.allowed_paths = tuple(
        _allowed_path(paths_key, path.strip(), platform)
        for path in texts.get(paths_key, "").split(",")
        if path.strip()
    )
    pattern_key = f"{PROVIDERS}.{name}.param.allowlist.pattern"
    if pattern_key in texts:
        try:
            provider.allowed_names = re.compile(texts[pattern_key])
        except re.error as error:
            raise ConfigError(pattern_key, f"{pattern_key}: {error}") from None
    return provider


def _allowed_path(key: str, path: str, platform: Platform) -> str:
    """Return the path in its shortest form.

    Raises ConfigError if it is not absolute or not there.
    """
    if not path.startswith("/"):
        raise ConfigError(key, f"{key}: Path {path} is not absolute")
    if not platform.exists(path):
        raise ConfigError(key, f"{key}: Path {path} does not exist")
    return posixpath.normpath(path)


def _with_variables(
    name: str, text: str, providers: Mapping[str, _Provider], platform: Platform
) -> str:
    """Return the value of the key `name` with its variables resolved, or raise ConfigError."""

    def value_of(match: re.Match[str]) -> str:
        """Return a variable's value.

        Raises ConfigError, whose text never shows the rest of the setting.
        """
        provider = providers.get(match[1])
        if provider is None:
            names = ", ".join(providers)  # the value may be a password: the error has no part of it
            text = f"{name}: a ${{...}} in it names a provider that {PROVIDERS} ({names}) lacks"
            raise ConfigError(name, text)
        try:
            return _GETTERS[provider.kind](provider, match[2] or "", match[3], platform)
        except _NotFound as reason:
            raise ConfigError(name, f"{name}: {match[0]}: {reason}") from None

    return _VARIABLE.sub(value_of, text)


class _NotFound(Exception):
    """The reason why a variable cannot be replaced."""


def _of_file(provider: _Provider, path: str, key: str, platform: Platform) -> str:
    """Return a key's value in a properties file, or raise _NotFound. The file is read once."""
    if not path:
        raise _NotFound(f"write it as ${{{provider.name}:/path/of/a/file:key}}")
    if path not in provider.files:
        try:
            provider.files[path] = parse_properties(_read_allowed(provider, path, platform))
        except PropertiesError as error:
            raise _NotFound(str(error)) from None
    values = provider.files[path]
    if key not in values:
        raise _NotFound("the file has no such key")
    return values[key]


def _of_directory(provider: _Provider, path: str, key: str, platform: Platform) -> str:
    """Return the text of the file `key` in the folder `path`, or raise _NotFound."""
    if not path:
        raise _NotFound(f"write it as ${{{provider.name}:/path/of/a/folder:file}}")
    if key in ("", ".", "..") or "/" in key:
        raise _NotFound("name a file of the folder")
    return _read_allowed(provider, f"{path}/{key}", platform)


def _read_allowed(provider: _Provider, path: str, platform: Platform) -> str:
    """Return a file's text. Raises _NotFound if it is unreadable or outside the allowed paths."""
    plain = posixpath.normpath(path)
    below = [
        allowed
        for allowed in provider.allowed_paths
        if f"{plain}/".startswith(f"{allowed.rstrip('/')}/")
    ]
    if provider.allowed_paths and not below:
        raise _NotFound(f"it is not below the allowed.paths of {provider.name}")
    try:
        return platform.read(plain)
    except OSError as error:
        raise _NotFound(error.strerror or "it cannot be read") from None


def _of_environment(provider: _Provider, path: str, key: str, platform: Platform) -> str:
    """Return an environment variable. Raises _NotFound if it is not set or not allowed."""
    if path:
        raise _NotFound(f"write it as ${{{provider.name}:NAME}}")
    allowed = provider.allowed_names
    if allowed is not None and not allowed.fullmatch(key):
        raise _NotFound(f"the allowlist.pattern of {provider.name} does not match it")
    value = platform.variable(key)
    if value is None:
        raise _NotFound("there is no such environment variable")
    return value


_GETTERS: dict[str, Callable[[_Provider, str, str, Platform], str]] = {
    "FileConfigProvider": _of_file,
    "EnvVarConfigProvider": _of_environment,
    "DirectoryConfigProvider": _of_directory,
}
PROVIDER_CLASSES = tuple(f"{_PACKAGE}{kind}" for kind in _GETTERS)
"""The classes of Kafka's providers that Ottla has."""
