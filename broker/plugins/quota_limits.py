"""A custom quota callback, as the quotas of a node ask it (`broker.quotas.limits.QuotaLimits`).

Owns: that one that fails limits nobody, that a limit that is none is told of, and that what it
takes of the loop's time is. Never measures anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from broker.plugins.loop_calls import LoopCalls
from broker.quotas.client_quota_manager import QuotaKind
from broker.quotas.limits import ClientEntity, CustomTags, Tags
from ottla.plugins.quotas import ClientQuotaCallback, QuotaEntity, QuotaType

T = TypeVar("T")

_NO_TAGS: CustomTags = ()


class PluginLimits:
    """Of one kind."""

    def __init__(self, callback: ClientQuotaCallback, kind: QuotaKind, calls: LoopCalls) -> None:
        self._callback = callback
        self._type = QuotaType(kind.key)
        self._calls = calls

    @property
    def any_set(self) -> bool:
        """Only it knows."""
        return True

    def tags_of(self, principal: str, client_id: str) -> CustomTags:
        def ask() -> CustomTags:
            tags = self._callback.metric_tags(self._type, principal, client_id)
            return tuple((str(name), str(value)) for name, value in tags.items())

        return self._asked(ask, _NO_TAGS)

    def limit(self, tags: Tags | CustomTags) -> float | None:
        if not tags or isinstance(tags, Tags):
            return None
        limit = self._asked(lambda: self._callback.limit(self._type, dict(tags)), None)
        if limit is None:
            return None
        if isinstance(limit, (int, float)) and limit > 0:
            return float(limit)
        self._calls.misled(f"gave {limit!r} for a limit: nobody is limited by it")
        return None

    def put(self, entity: ClientEntity, limit: float | None) -> bool:
        named = QuotaEntity(*entity)
        if limit is None:
            self._asked(lambda: self._callback.remove(self._type, named), None)
        else:
            self._asked(lambda: self._callback.update(self._type, named, limit), None)
        return True

    def changed_by_itself(self) -> bool:
        return self._asked(lambda: self._callback.reset_required(self._type), False) is True

    def _asked(self, question: Callable[[], T], otherwise: T) -> T:
        calls = self._calls
        began_ms = calls.clock_ms()
        try:
            return question()
        except Exception as error:  # noqa: BLE001  a plug-in's: whatever it is, nobody is limited
            calls.failed(error)
            return otherwise
        finally:
            calls.ended(began_ms)
