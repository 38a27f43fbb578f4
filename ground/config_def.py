"""The config keys: type, default, limits, and the error texts for bad values.

`ConfigDef` holds the keys of one kind of resource, read from `definitions/*.json` of a package:
those of topics in `storage`, those of the server in `broker`. It parses texts into values, and
rejects a value outside of its limits with `ConfigError`. The texts are Kafka's, because admin tools
show them to users.

It never knows the purpose of a key, and never checks several keys together. How a number or a
boolean may be written is in `ground.java_literals`.

It follows `org.apache.kafka.common.config.ConfigDef`, KIP-226 (sources of a value), KIP-569
(type and documentation of a value), KIP-1161 (lists).
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from ground import java_literals as java

ConfigValue = bool | int | float | str | tuple[str, ...] | None
Validator = Callable[[str, ConfigValue], None]

REQUIRED = "(required)"
_BLANKS = " \t\n\r\f\v"
_RANGE = re.compile(r"\[(-?[0-9.]+),\.\.\.(?:,(-?[0-9.]+))?\]")
_CHOICES = re.compile(r"(\(case insensitive\) )?\[([A-Za-z0-9_, -]+)\]")
_THROTTLED_REPLICAS = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
_GZIP_LEVELS = "[1,...,9] or -1"
_OFFSET_RESETS = "[latest, earliest, by_duration:PnDTnHnMn.nS]"


class ConfigType(IntEnum):
    """The type of a config, by its number in DescribeConfigs."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigSource(IntEnum):
    """The source of a config's value, by its number in DescribeConfigs (KIP-226)."""

    UNKNOWN = 0
    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


_INTEGER_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


class ConfigError(Exception):
    """A value is rejected; `str()` is the sentence for the user."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name

    @classmethod
    def invalid(cls, name: str, value: object, reason: str) -> ConfigError:
        """Return an error with Kafka's usual text: the value, the key and the reason."""
        value_text = "null" if value is None else _value_text(value)
        return cls(name, f"Invalid value {value_text} for configuration {name}: {reason}")


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """A config key. `default` is Kafka's, as text; None if Kafka's is null."""

    name: str
    type: ConfigType
    default: str | None
    required: bool
    internal: bool
    validator: Validator

    @property
    def attribute(self) -> str:
        """The key's name with underscores in place of dots, as a Python attribute."""
        return self.name.replace(".", "_")

    @property
    def sensitive(self) -> bool:
        """Whether the key has type PASSWORD: its value is described as null and logged as
        hidden."""
        return self.type is ConfigType.PASSWORD

    def parse(self, text: str | None) -> ConfigValue:
        """Return the value of `text` under the key's type, after the key's own check. A null text
        gives None if the key accepts null. Raises ConfigError.

        Duplicate elements of a list are dropped, except those of throttled replicas.
        """
        allows_duplicates = self.validator is _check_throttled_replicas
        value = None if text is None else parse_type(self.name, self.type, text, allows_duplicates)
        self.validator(self.name, value)
        return value


class ConfigDef(Mapping[str, ConfigKey]):
    """The keys of one kind of resource, by name, in the order of the definitions."""

    def __init__(self, keys: list[ConfigKey]) -> None:
        self._keys = {key.name: key for key in keys}
        self._defaults: dict[str, ConfigValue] | None = None

    def __getitem__(self, name: str) -> ConfigKey:
        return self._keys[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    @classmethod
    def from_package(cls, package: str, file_name: str) -> ConfigDef:
        """Return the definitions of the JSON file `definitions/{file_name}` in `package`. Raises
        FileNotFoundError."""
        data = pkgutil.get_data(package, f"definitions/{file_name}")
        if data is None:  # pragma: no cover - only where an importer cannot read data files
            raise FileNotFoundError(f"{package}/definitions/{file_name}")
        return cls([_key_from(entry) for entry in json.loads(data)])

    def defaults(self) -> dict[str, ConfigValue]:
        """Return Kafka's parsed default of each key by name, None where it is null. Required keys
        are left out."""
        if self._defaults is None:
            self._defaults = {
                key.name: None
                if key.default is None
                else parse_type(key.name, key.type, key.default)
                for key in self._keys.values()
                if not key.required
            }
        return dict(self._defaults)


def parse_type(
    name: str, kind: ConfigType, text: str, keep_duplicates: bool = False
) -> ConfigValue:
    """Return the value of `text` as `kind`, without checking the key's own limits. Raises
    ConfigError.

    A type that is no boolean, number or list gives the trimmed text. `keep_duplicates`: keep
    duplicate elements of a list; otherwise only the first of them stays.
    """
    trimmed = java.trim(text)
    if kind is ConfigType.BOOLEAN:
        boolean = java.boolean(trimmed)
        if boolean is None:
            raise ConfigError.invalid(name, text, "Expected value to be either true or false")
        return boolean
    if kind in _INTEGER_BITS:
        integer = java.integer(trimmed, _INTEGER_BITS[kind])
        if integer is None:
            raise ConfigError.invalid(name, text, f"Not a number of type {kind.name}")
        return integer
    if kind is ConfigType.DOUBLE:
        number = java.double(trimmed)
        if number is None:
            raise ConfigError.invalid(name, text, "Not a number of type DOUBLE")
        return number
    if kind is ConfigType.LIST:
        elements = [element.strip(_BLANKS) for element in trimmed.split(",")] if trimmed else []
        # Kafka drops a duplicate element with a warning.
        return tuple(elements if keep_duplicates else dict.fromkeys(elements))
    return trimmed


def format_value(value: ConfigValue) -> str | None:
    """Return the text of a parsed value in DescribeConfigs; None for None."""
    return None if value is None else _value_text(value)


def _value_text(value: object) -> str:
    """Return a value as Kafka shows it: true or false, a float as Java prints it, a list with
    commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java.double_text(value)
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


def _key_from(entry: Mapping[str, object]) -> ConfigKey:
    """Return a key's definition from its entry in a file of definitions. A key without `valid`
    accepts all values."""
    config_type = ConfigType[str(entry["type"])]
    default = entry["default"]
    valid = entry.get("valid")
    return ConfigKey(
        name=str(entry["name"]),
        type=config_type,
        default=None if default is None or default == REQUIRED else str(default),
        required=default == REQUIRED,
        internal=bool(entry.get("internal", False)),
        validator=_accept_all if valid is None else validator_from(str(valid), config_type),
    )


def validator_from(valid: str, kind: ConfigType) -> Validator:
    """Return the validator for a `valid` text of the definitions. Raises ValueError if it is
    unknown."""
    if valid in _NAMED_VALIDATORS:
        return _NAMED_VALIDATORS[valid]
    if bounds := _RANGE.fullmatch(valid):
        return _between(bounds[1], bounds[2], kind)
    if choices := _CHOICES.fullmatch(valid):
        names = tuple(choices[2].split(", "))
        if kind is ConfigType.LIST:
            return _list_of(names)
        return _one_of_ignoring_case(names) if choices[1] else _one_of(names)
    raise ValueError(f"the definitions have a limit of an unknown form: {valid!r}")


def _accept_all(_name: str, _value: ConfigValue) -> None:
    return None


def _between(low: str, high: str | None, kind: ConfigType) -> Validator:
    """Return a check of the bounds, both allowed; None as `high` is no upper bound. The check
    raises ConfigError for null and for a number outside."""
    number = float if kind is ConfigType.DOUBLE else int

    def check(name: str, value: ConfigValue) -> None:
        """Raise ConfigError for null and for a number outside the bounds."""
        if value is None:
            raise ConfigError.invalid(name, None, "Value must be non-null")
        assert isinstance(value, int | float)
        if value < number(low):
            raise ConfigError.invalid(name, value, f"Value must be at least {low}")
        if high is not None and value > number(high):
            raise ConfigError.invalid(name, value, f"Value must be no more than {high}")

    return check


def _one_of(choices: tuple[str, ...]) -> Validator:
    """Return a check that raises ConfigError unless the value is among the choices."""

    def check(name: str, value: ConfigValue) -> None:
        """Raise ConfigError unless the value is among the choices."""
        if value not in choices:
            reason = f"String must be one of: {', '.join(choices)}"
            raise ConfigError.invalid(name, value, reason)

    return check


def _one_of_ignoring_case(choices: tuple[str, ...]) -> Validator:
    """Return a check that raises ConfigError unless the value is among the choices, which are in
    upper case."""

    def check(name: str, value: ConfigValue) -> None:
        """Raise ConfigError for null, and unless the value in upper case is among the choices."""
        if value is None or str(value).upper() not in choices:
            reason = f"String must be one of (case insensitive): {', '.join(choices)}"
            raise ConfigError.invalid(name, value, reason)

    return check


def _list_of(choices: tuple[str, ...]) -> Validator:
    """Return a check that raises ConfigError for a list with an empty element or with one outside
    the choices."""

    def check(name: str, value: ConfigValue) -> None:
        """Raise ConfigError for an empty element, or an element outside the choices."""
        _reject_empty_element(name, value)
        assert isinstance(value, tuple)
        for element in value:
            if element not in choices:
                reason = f"String must be one of: {', '.join(choices)}"
                raise ConfigError.invalid(name, element, reason)

    return check


def _reject_empty_element(name: str, value: ConfigValue) -> None:
    """Raise ConfigError if a list has an empty element. Accept null."""
    if value is None:
        return
    assert isinstance(value, tuple)
    if "" in value:
        raise ConfigError(name, f"Configuration '{name}' values must not be empty.")


def _reject_empty_string(name: str, value: ConfigValue) -> None:
    """Raise ConfigError if the value is empty. Accept null."""
    if value == "":
        raise ConfigError.invalid(name, value, "String must be non-empty")


def _reject_null(name: str, value: ConfigValue) -> None:
    """Raise ConfigError if the value is null."""
    if value is None:
        raise ConfigError.invalid(name, None, "entry must be non null")


def _check_gzip_level(name: str, value: ConfigValue) -> None:
    """Raise ConfigError unless the level is -1 or from 1 to 9."""
    assert isinstance(value, int)
    if value != -1 and not 1 <= value <= 9:
        reason = "Value must be between 1 and 9 or equal to -1"
        raise ConfigError.invalid(name, value, reason)


def _check_throttled_replicas(name: str, value: ConfigValue) -> None:
    """Raise ConfigError unless the list is empty, `*`, or of elements `partition:broker`."""
    assert isinstance(value, tuple)
    if value in ((), ("*",)):
        return
    if not all(re.fullmatch(r"([0-9]+:[0-9]+)?", pair) for pair in value):
        reason = f"{name} must be the literal '*' or a list of replicas in the following format: "
        value_text = f"[{', '.join(value)}]"
        raise ConfigError.invalid(name, value_text, reason + _THROTTLED_REPLICAS)


def _check_offset_reset(name: str, value: ConfigValue) -> None:
    """Raise ConfigError unless the value is `latest`, `earliest`, or `by_duration:` with an ISO
    8601 duration that is not negative (KIP-932, KIP-1106)."""
    text = str(value)
    kind, colon, duration = text.partition(":")
    elapsed_ns = java.duration_ns(duration) if kind == "by_duration" and colon else None
    if text not in ("latest", "earliest") and (elapsed_ns is None or elapsed_ns < 0):
        reason = (
            f"Invalid value `{text}` for configuration {name}. The value must be either "
            "'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
        )
        raise ConfigError.invalid(name, value, reason)


_NAMED_VALIDATORS: dict[str, Validator] = {
    _GZIP_LEVELS: _check_gzip_level,
    _THROTTLED_REPLICAS: _check_throttled_replicas,
    _OFFSET_RESETS: _check_offset_reset,
    "": _reject_empty_element,
    "non-empty list": _reject_empty_element,
    "non-empty string": _reject_empty_string,
    "non-null string": _reject_null,
}
