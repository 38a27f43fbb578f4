"""The type of the function by which parts of a broker send requests to the active controller.

`broker.node.control.to_controller` implements it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ToController = Callable[[Any, Callable[[Any], None]], None]
"""A function of a request, and of a callback that gets its response, or None after a time-out."""
