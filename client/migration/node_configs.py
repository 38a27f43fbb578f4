"""The check of nodes' configs: which keys Ottla would refuse, ignore, or not know.

Uses the functions that a node of Ottla uses at its start and for dynamic changes, and has no list
of keys of its own. A cluster hides the values of secrets, and of keys that are not Kafka's own.
Stand-ins take their places, so a login module that Ottla lacks is not found, nor is a config
provider whose class is hidden.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from broker.config.applied_keys import is_of_node
from broker.config.dynamic import dynamic_config_fault, is_unserved
from broker.config.in_force import is_valid
from broker.config.keys import BROKER_CONFIG_DEF, LISTENER_PREFIX, key_of
from broker.config.parse import known_keys, parse_config, with_overrides
from broker.config.refusals.faults import fault_of
from broker.config.security.config_providers import (
    PROVIDER_CLASSES,
    PROVIDERS,
    check_provider_class,
    class_key,
)
from broker.config.security.jaas_file import JAAS_SECTION, keys_of_logins
from broker.config.security.listener_keys import check_listener_keys
from broker.config.security.mechanisms import MECHANISMS, usual_login_module
from broker.config.security_settings import JaasEntry, Secret
from broker.config.support import ignored_keys
from broker.config.values import BrokerConfig
from client.migration.contents import NodeContents, SetConfig
from client.migration.findings import Finding, Severity, ignored, refused, unknown
from ground.config_def import ConfigError, ConfigSource

_JAAS = ".sasl.jaas.config"
_HIDDEN = "hidden"
_STAND_INS = {"super.users": f"User:{_HIDDEN}"}
"""Texts for hidden values whose form a check looks at."""
_OF_THE_WHOLE = (
    "advertised.",
    "broker.id",
    "controller.",
    "inter.broker.",
    "listener",
    "log.dir",
    "node.id",
    "process.roles",
    "sasl.",
    "security.inter.",
    "ssl.",
)
"""Prefixes of keys that others depend on: without them, further errors would mean nothing."""

_IN_THE_FILE = "change it in the configuration with which Ottla starts"
_OUT_OF_THE_FILE = (
    "leave it out of the configuration with which Ottla starts, or set ottla.unknown.keys=warn"
)
_NAME_JAAS_FILE = "start Ottla with the file: ottla serve --jaas-config, or KAFKA_OPTS"
_NO_EFFECT = "nothing, if you can do without its effect"
_INTO_THE_FILE = "write it into the configuration with which Ottla starts"
_REMOVE_DYNAMIC = "change or remove it while the cluster runs: ottla config set"


def node_findings(node: NodeContents) -> tuple[list[Finding], BrokerConfig | None]:
    """Return the findings about a node's own configs, and its configuration as Ottla reads it; None
    if Ottla would not start with it."""
    static = _texts(node.configs, ConfigSource.STATIC_BROKER_CONFIG)
    if not static:
        return [], None
    findings = list(_key_findings(node.place, static, _IN_THE_FILE, _OUT_OF_THE_FILE))
    faulty = {name for _, name in findings}
    sound = {name: text for name, text in static.items() if name not in faulty}
    config, contradictions = _whole(node.place, sound)
    warnings = ignored_keys(sound) if config is None else config.warnings
    dynamic = _texts(node.configs, ConfigSource.DYNAMIC_BROKER_CONFIG)
    return [
        *(finding for finding, _ in findings),
        *contradictions,
        *(ignored(node.place, warning, _NO_EFFECT) for warning in warnings),
        *dynamic_findings(node.place, dynamic, config, one_broker=True),
    ], config


def all_brokers_findings(
    configs: Sequence[SetConfig], config: BrokerConfig | None
) -> Iterator[Finding]:
    """Yield the findings about the dynamic configs of all brokers; `config` is that of a broker."""
    texts = _texts(configs, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
    return dynamic_findings("all brokers", texts, config, one_broker=False)


def dynamic_findings(
    place: str, texts: Mapping[str, str], config: BrokerConfig | None, *, one_broker: bool
) -> Iterator[Finding]:
    """Yield the findings about dynamic configs, each on its own.

    `config` None: the node's own is not known, so no key is compared with others.
    """
    faulty = set()
    for finding, name in _key_findings(place, texts, _REMOVE_DYNAMIC, _REMOVE_DYNAMIC):
        faulty.add(name)
        yield finding
    sound = {name: text for name, text in texts.items() if name not in faulty}
    if config is not None:
        config = _in_force(config, sound)
    for name, text in sound.items():
        warnings = list(ignored_keys({name: text}))
        yield from (ignored(place, warning, _NO_EFFECT) for warning in warnings)
        if is_unserved(name):
            what = f"{name} was set while the cluster ran; Ottla takes it from its file"
            if not warnings:
                yield ignored(place, what, _INTO_THE_FILE)
        elif config is not None:
            fault = dynamic_config_fault(config, {}, {name: text}, one_broker=one_broker)
            if fault is not None:
                yield refused(place, f"{name}: {fault.message}", _REMOVE_DYNAMIC)


def _texts(configs: Sequence[SetConfig], source: ConfigSource) -> dict[str, str]:
    """Return the text of each key of a source; a hidden value has a stand-in."""
    of_source = [config for config in configs if config.source == source]
    providers = dict.fromkeys(filter(None, (_provider_of(config.name) for config in of_source)))
    stand_ins = {**_STAND_INS, PROVIDERS: ",".join(providers)}
    stand_ins |= {class_key(provider): PROVIDER_CLASSES[0] for provider in providers}
    return {
        config.name: _stand_in(config.name, stand_ins) if config.value is None else config.value
        for config in of_source
    }


def _provider_of(name: str) -> str:
    """Return the config provider that a key configures; "" for another key."""
    if not name.startswith(f"{PROVIDERS}."):
        return ""
    return name.removeprefix(f"{PROVIDERS}.").partition(".")[0]


def _stand_in(name: str, stand_ins: Mapping[str, str]) -> str:
    """Return a text that is valid for a key whose value is hidden. `stand_ins` has those texts
    that the key's definition does not give."""
    if name in stand_ins:
        return stand_ins[name]
    if name.endswith(_JAAS):
        module = usual_login_module(name.removesuffix(_JAAS).rpartition(".")[2])
        return f'{module} required username="{_HIDDEN}" password="{_HIDDEN}";'
    key = key_of(name) if name.startswith(LISTENER_PREFIX) else name
    definition = BROKER_CONFIG_DEF.get(key or "")
    if definition is not None and definition.default:
        return definition.default
    return _HIDDEN


def _key_findings(
    place: str, texts: Mapping[str, str], advice: str, advice_on_unknown: str
) -> Iterator[tuple[Finding, str]]:
    """Yield a finding, with its key, for each key that is not known or refused by itself."""
    is_known = known_keys(texts)
    listeners = _listeners(texts)
    for name, text in texts.items():
        fault = (
            fault_of(name, text, is_known)
            or _listener_fault(name, text, listeners)
            or _provider_fault(name, text)
        )
        if fault is None:
            continue
        if not is_known(name) or (name.startswith(LISTENER_PREFIX) and key_of(name) is None):
            yield unknown(place, str(fault), advice_on_unknown), name
        else:
            yield refused(place, str(fault), advice), name


def _listeners(texts: Mapping[str, str]) -> list[str]:
    """Return the names of the listeners that a configuration opens or connects to."""
    entries = [entry.partition("://")[0] for entry in texts.get("listeners", "").split(",")]
    entries += texts.get("controller.listener.names", "").split(",")
    return [entry.strip() for entry in entries if entry.strip()]


def _listener_fault(name: str, text: str, listeners: Sequence[str]) -> ConfigError | None:
    """Return the error of a key of a listener, None if there is none or it is another key."""
    if not name.startswith(LISTENER_PREFIX):
        return None
    known = listeners or [name.removeprefix(LISTENER_PREFIX).partition(".")[0]]
    try:
        list(check_listener_keys({name: text}, known))
    except ConfigError as error:
        return error
    return None


def _provider_fault(name: str, text: str) -> ConfigError | None:
    """Return the error of a key that names a config provider's class, None if there is none or it
    is another key."""
    provider = _provider_of(name)
    if not provider or name != class_key(provider):
        return None
    try:
        check_provider_class(name, text)
    except ConfigError as error:
        return error
    return None


def _whole(place: str, texts: Mapping[str, str]) -> tuple[BrokerConfig | None, list[Finding]]:
    """Return the configuration with these texts, and the findings about keys that contradict each
    other or name a class that Ottla lacks. Such keys are left out; None if that is not possible."""
    findings: list[Finding] = []
    logins = _logins_of_a_file(texts)
    while True:
        try:
            return parse_config(texts), findings
        except ConfigError as error:
            if error.name in logins:
                what = f"{error.name} is not set; a JAAS file may have this login"
                findings.append(Finding(Severity.UNREAD, (place,), what, _NAME_JAAS_FILE))
                texts = {**texts, error.name: logins.pop(error.name)}
                continue
            findings.append(refused(place, str(error), _IN_THE_FILE))
            if error.name not in texts or error.name.startswith(_OF_THE_WHOLE):
                return None, findings
            texts = {name: text for name, text in texts.items() if name != error.name}


def _logins_of_a_file(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the keys, with stand-ins, that a JAAS file with all login modules would add. Clients
    cannot see such a file."""
    options = {"username": Secret(_HIDDEN), "password": Secret(_HIDDEN)}
    entries = [JaasEntry(usual_login_module(mechanism), options) for mechanism in MECHANISMS]
    try:
        return keys_of_logins(texts, {JAAS_SECTION: entries})
    except ConfigError:
        return {}  # the configuration as a whole has the same error


def _in_force(config: BrokerConfig, texts: Mapping[str, str]) -> BrokerConfig:
    """Return `config` with the dynamic texts that a node applies, so that a check of a change sees
    none; `config` itself if they contradict each other."""
    applied = {
        name: text
        for name, text in texts.items()
        if is_of_node(config, name) and is_valid(name, text)
    }
    try:
        return with_overrides(config, applied)
    except ConfigError:
        return config
