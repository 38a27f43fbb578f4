"""How the parts of a broker ask the active controller, wherever it is.

`broker.node.control.to_controller` is what they are given; they know only this callable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ToController = Callable[[Any, Callable[[Any], None]], None]
"""(request, what to do with its response, which is None where no answer came in time)."""
