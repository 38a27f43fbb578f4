"""CRC-32C: the checksum of record batches (v2) and of producer snapshots.

The package crc32c computes it. Its import also loads a command line and reads its version from the
installed metadata: 40 modules that a broker never uses, and a tenth of its start. So only the
extension module is loaded, or the package if a later release has no module of that name.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec


def _load_crc32c() -> Callable[..., int]:
    """Return the extension's function, loaded without the package around it if possible."""
    package = find_spec("crc32c")
    folders = package.submodule_search_locations if package else None
    extension = PathFinder.find_spec("crc32c._crc32c", folders) if folders else None
    if extension is None or extension.loader is None:
        from crc32c import crc32c as function
    else:
        module = module_from_spec(extension)
        extension.loader.exec_module(module)
        function = module.crc32c
    return function


crc32c = _load_crc32c()
"""The function `crc32c(data, value=0)`, which returns the checksum of `data` (any object with a
buffer), continued from the checksum `value`."""
