"""What consumer groups look at, in tests: assignors at once, names by Python's expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from broker.config.parse import single_node_config
from broker.config.values import BrokerConfig
from broker.groups.consumer.assignors.assignor import Assignor, GroupAssignment, MemberSubscription
from broker.groups.consumer.assignors.assignors import BUILT_IN, AssignmentCallback, Assignors
from broker.groups.consumer.expressions import TopicsByRegex
from broker.groups.consumer.membership import Describable
from broker.groups.consumer.surroundings import ConsumerGroupInputs
from controller.metadata.image import MetadataImage


class AtOnce:
    """An assignor that answers at once, or, `held`, when it is told to."""

    def __init__(self, assignor: Assignor) -> None:
        self._assignor = assignor
        self.held: list[Callable[[], None]] | None = None

    @property
    def name(self) -> str:
        return self._assignor.name

    def begin(
        self,
        members: Mapping[str, MemberSubscription],
        topics: Mapping[bytes, int],
        done: AssignmentCallback,
    ) -> list[GroupAssignment]:
        """As `AsyncAssignor` says."""
        if self.held is None:
            return [self._assignor.assign(members, topics)]
        self.held.append(lambda: done(self._assignor.assign(members, topics), None))
        return []


class PythonExpressions:
    """Close to RE2 for what tests ask."""

    def __init__(self) -> None:
        self.held: list[Callable[[], None]] | None = None

    def fault(self, expression: str) -> str | None:
        """As `TopicNameLookup` says."""
        try:
            re.compile(expression)
        except re.error as error:
            return str(error)
        return "look-ahead" if "(?" in expression else None

    def look_up(
        self,
        expressions: Sequence[str],
        names: Sequence[str],
        may_describe: Describable,
        done: Callable[[TopicsByRegex], None],
    ) -> None:
        """At once, or, `held`, when it is told to."""
        found = {
            one: sorted(may_describe([name for name in names if re.fullmatch(one, name)]))
            for one in expressions
        }
        if self.held is None:
            done(found)
        else:
            self.held.append(lambda: done(found))


def surroundings(
    config: BrokerConfig | None = None,
    image: Callable[[], MetadataImage] = MetadataImage,
) -> ConsumerGroupInputs:
    """Of a node in tests."""
    assignors = Assignors([AtOnce(one()) for one in BUILT_IN.values()])
    used = config or single_node_config()
    return ConsumerGroupInputs(used, lambda: used, image, assignors, PythonExpressions())
