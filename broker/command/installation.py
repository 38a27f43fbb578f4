"""Guards against another distribution that brought a package under one of our plain names.

Ottla's packages are called broker, controller, protocol and storage, so it is installed as an
application. Where another install of the same environment shadows one of them, this says which,
before anything fails in a strange place. It imports none of them.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import broker
from broker.config.start_error import StartError

PACKAGES = ("broker", "controller", "protocol", "storage")


def check_installation(folder: str | None = None) -> None:
    """Raise StartError unless all packages lie beside each other in `folder` (default: ours)."""
    own = folder or str(Path(broker.__file__).resolve().parent.parent)
    for name in PACKAGES:
        found = _folder_of(name)
        if found != own:
            where = f"is found in {found}" if found else "is missing"
            raise StartError(
                f"the package {name} {where} and not in {own}: another distribution has a package "
                "of that name; install Ottla into an environment of its own (pipx install ottla)"
            )


def _folder_of(name: str) -> str | None:
    """The folder that holds the package that an import of `name` would take."""
    spec = find_spec(name)
    if spec is None:
        return None
    if spec.origin is None:  # a folder without __init__.py
        locations = list(spec.submodule_search_locations or ())
        return str(Path(locations[0]).resolve().parent) if locations else None
    return str(Path(spec.origin).resolve().parent.parent)
