"""From `package.module:Class` to an object that is ready to be asked.

Owns where modules are looked for, and what is said of a class that cannot be used: one line, with
the key that names it. A module is looked for in Ottla's own installation, in the folders of
PYTHONPATH, among the packages that are installed beside Ottla, and at last in the folders of
`ottla.plugins.path`. Never asks a plug-in anything but to configure itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TypeVar

from broker.config.plugins import PythonClass
from ground.config_def import ConfigError

T = TypeVar("T")

_OURS = ("broker", "controller", "ottla", "pipeline", "protocol", "storage")
"""Packages that a process of ours has already."""


def look_in(folders: Sequence[str]) -> None:
    """Also look for modules in these folders, behind all others."""
    for folder in folders:
        if folder not in sys.path:
            sys.path.append(folder)


def load(named: PythonClass, base: type[T], configure: Callable[[T], object]) -> T:
    """An object of that class, which extends `base`, after `configure(object)`. Raises ConfigError
    with one line."""
    made = _class_of(named, base)
    try:
        plugin: T = made()
        configure(plugin)
    except (Exception, SystemExit) as error:
        raise _refusal(named, f"cannot be made: {_told(error)}") from error
    return plugin


def _class_of(named: PythonClass, base: type[T]) -> type[T]:
    found: object = _module_of(named)
    for part in named.name.split("."):
        if not hasattr(found, part):
            file = sys.modules[named.module].__file__
            raise _refusal(named, f"module {named.module} ({file}) has no {part}")
        found = getattr(found, part)
    if not isinstance(found, type) or not issubclass(found, base):
        raise _refusal(named, f"is no subclass of {base.__module__}.{base.__name__}")
    return found


def _module_of(named: PythonClass) -> ModuleType:
    top = named.module.partition(".")[0]
    if top in _OURS:
        raise _refusal(named, f"{top} is a package of Ottla itself; call yours otherwise")
    try:
        return import_module(named.module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing == named.module or named.module.startswith(f"{missing}."):
            raise _refusal(
                named,
                f"there is no module {missing}; it is looked for in PYTHONPATH, in the packages "
                "installed beside Ottla, and in ottla.plugins.path",
            ) from error
        raise _refusal(named, f"cannot be imported: {_told(error)}") from error
    except (Exception, SystemExit) as error:
        raise _refusal(named, f"cannot be imported: {_told(error)}") from error


def _refusal(named: PythonClass, why: str) -> ConfigError:
    return ConfigError(named.key, f"{named.key}={named}: {why}")


def _told(error: BaseException) -> str:
    """What went wrong, and where in the plug-in's own file."""
    where = ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith("<") and file != __file__:
            where = f" ({file}:{trace.tb_lineno})"
        trace = trace.tb_next
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}{where}" if text else f"{type(error).__name__}{where}"


def own_settings(originals: Mapping[str, str], prefixes: Sequence[str] = ()) -> dict[str, str]:
    """The settings of the node, with those behind `prefixes` under their plain names, too; the last
    prefix is the nearest."""
    settings = dict(originals)
    for prefix in prefixes:
        for name, text in originals.items():
            if name.startswith(prefix):
                settings[name.removeprefix(prefix)] = text
    return settings
