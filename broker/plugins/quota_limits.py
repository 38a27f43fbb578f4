"""A user's quota callback as the `broker.quotas.limits.QuotaLimits` of a node.

Owns: the rule that no client is limited if the callback fails, and the log lines about invalid
limits and slow calls. Never measures a client's rate.
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
    """The limits of one kind of quota, from a user's callback."""

    def __init__(self, callback: ClientQuotaCallback, kind: QuotaKind, calls: LoopCalls) -> None:
        self._callback = callback
        self._type = QuotaType(kind.key)
        self._calls = calls

    @property
    def any_set(self) -> bool:
        """True always: only the callback knows whether it limits any client."""
        return True

    def tags_of(self, principal: str, client_id: str) -> CustomTags:
        """Return the plug-in's tags, in its order; no tags if it fails."""

        def ask() -> CustomTags:
            """Return the plug-in's tags as pairs of texts."""
            tags = self._callback.metric_tags(self._type, principal, client_id)
            return tuple((str(name), str(value)) for name, value in tags.items())

        return self._ask(ask, _NO_TAGS)

    def limit(self, tags: Tags | CustomTags) -> float | None:
        """Return the plug-in's limit per second. None if it has no limit, failed, or gave an
        invalid limit, and for tags that are not from `tags_of`."""
        if not tags or isinstance(tags, Tags):
            return None
        limit = self._ask(lambda: self._callback.limit(self._type, dict(tags)), None)
        if limit is None:
            return None
        if isinstance(limit, (int, float)) and limit > 0:
            return float(limit)
        self._calls.invalid_answer(f"gave {limit!r} for a limit: nobody is limited by it")
        return None

    def put(self, entity: ClientEntity, limit: float | None) -> bool:
        """Pass the entity's new limit to the plug-in's `update`, or to its `remove` if None. Return
        True: any of the plug-in's limits may have changed."""
        quota_entity = QuotaEntity(*entity)
        if limit is None:
            self._ask(lambda: self._callback.remove(self._type, quota_entity), None)
        else:
            self._ask(lambda: self._callback.update(self._type, quota_entity, limit), None)
        return True

    def changed_by_itself(self) -> bool:
        """Return True if the plug-in says that its limits have changed; False if it fails."""
        return self._ask(lambda: self._callback.reset_required(self._type), False) is True

    def _ask(self, question: Callable[[], T], otherwise: T) -> T:
        """Return the plug-in's answer; if it raises, log the error and return `otherwise`. A slow
        call is logged, too."""
        calls = self._calls
        began_ms = calls.clock_ms()
        try:
            return question()
        except Exception as error:  # noqa: BLE001  any error of a plug-in means no limit
            calls.failed(error)
            return otherwise
        finally:
            calls.ended(began_ms)
