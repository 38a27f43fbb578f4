"""The way in which parts of a broker send requests to the active controller.

They know only this callable. `broker.node.control.to_controller` implements it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ToController = Callable[[Any, Callable[[Any], None]], None]
"""A function of a request and of a callback for its response, None if none came in time."""
