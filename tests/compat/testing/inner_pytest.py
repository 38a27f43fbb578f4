"""What runs of pytest within a test leave out: it takes longer to import than pytest itself."""

from __future__ import annotations

_PLUGINS = ("cacheprovider", "hypothesispytest", "randomly", "timeout")
WITHOUT = [word for name in _PLUGINS for word in ("-p", f"no:{name}")]
