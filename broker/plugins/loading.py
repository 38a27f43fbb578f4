"""Loading of plug-ins: from `package.module:Class` to a configured object.

Owns: the search path of modules, and the error for a class that cannot be used: one line, with the
key that names it. A module is searched for in Ottla's own installation, in the folders of
PYTHONPATH, among the packages installed beside Ottla, and last in the folders of
`ottla.plugins.path`. Never calls a plug-in except to configure it.
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

OWN_PACKAGES = (
    *("broker", "client", "command", "console", "controller", "ground", "log_format", "ottla"),
    *("pipeline", "protocol", "simulation", "storage", "testbed"),
)
"""Ottla's own packages, whose names a plug-in's package cannot have."""


def extend_search_path(folders: Sequence[str]) -> None:
    """Append the folders to `sys.path` that it lacks."""
    for folder in folders:
        if folder not in sys.path:
            sys.path.append(folder)


def load(class_ref: PythonClass, base: type[T], configure: Callable[[T], object]) -> T:
    """Create an object of a class that extends `base`, and call `configure` with it.

    Raises ConfigError, with one line, if that is not possible."""
    plugin_class = _imported_class(class_ref, base)
    try:
        plugin: T = plugin_class()
        configure(plugin)
    except (Exception, SystemExit) as error:
        raise _refusal(class_ref, f"cannot be made: {_described(error)}") from error
    return plugin


def _imported_class(class_ref: PythonClass, base: type[T]) -> type[T]:
    """Import the class and return it. Raises ConfigError if it cannot be imported or is no subclass
    of `base`."""
    value: object = _imported_module(class_ref)
    for part in class_ref.name.split("."):
        if not hasattr(value, part):
            file = sys.modules[class_ref.module].__file__
            raise _refusal(class_ref, f"module {class_ref.module} ({file}) has no {part}")
        value = getattr(value, part)
    if not isinstance(value, type) or not issubclass(value, base):
        raise _refusal(class_ref, f"is no subclass of {base.__module__}.{base.__name__}")
    return value


def _imported_module(class_ref: PythonClass) -> ModuleType:
    """Import the module and return it. Raises ConfigError for any error, even SystemExit, of the
    import, and for a name of Ottla's own packages."""
    top = class_ref.module.partition(".")[0]
    if top in OWN_PACKAGES:
        raise _refusal(class_ref, f"{top} is a package of Ottla itself; call yours otherwise")
    try:
        return import_module(class_ref.module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing == class_ref.module or class_ref.module.startswith(f"{missing}."):
            raise _refusal(
                class_ref,
                f"there is no module {missing}; it is looked for in PYTHONPATH, in the packages "
                "installed beside Ottla, and in ottla.plugins.path",
            ) from error
        raise _refusal(class_ref, f"cannot be imported: {_described(error)}") from error
    except (Exception, SystemExit) as error:
        raise _refusal(class_ref, f"cannot be imported: {_described(error)}") from error


def _refusal(class_ref: PythonClass, why: str) -> ConfigError:
    """Return the error for a class that cannot be used, with its configuration key."""
    return ConfigError(class_ref.key, f"{class_ref.key}={class_ref}: {why}")


def _described(error: BaseException) -> str:
    """Return the error's type and text, with the file and line that raised it."""
    place = ""
    traceback = error.__traceback__
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith("<") and file != __file__:
            place = f" ({file}:{traceback.tb_lineno})"
        traceback = traceback.tb_next
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}{place}" if text else f"{type(error).__name__}{place}"


def own_settings(originals: Mapping[str, str], prefixes: Sequence[str] = ()) -> dict[str, str]:
    """Return the settings of the node, with the prefixed ones under their plain names as well.

    A setting of a later prefix overrides that of an earlier one."""
    settings = dict(originals)
    for prefix in prefixes:
        for name, text in originals.items():
            if name.startswith(prefix):
                settings[name.removeprefix(prefix)] = text
    return settings
