"""What is in a broker or a cluster under test: topics, groups, and what clients have sent.

Owns which topics a test has made, by what it calls them. Asks through one method, `call`, which
whoever is one of these has.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from ottla.testing import assertions
from ottla.testing.assertions import ANY
from ottla.testing.errors import SHOW_THE_CALLER, Misuse
from ottla.testing.frames import Json
from ottla.testing.records import Content, Record
from ottla.testing.requests import Request, request_from
from ottla.testing.topic import CALL_MARGIN_S, TIMEOUT_S, Topic

__tracebackhide__ = SHOW_THE_CALLER

GROUP_TIMEOUT_S = 30.0
REBALANCE_TIMEOUT_S = 60.0
_CREATE_TIMEOUT_S = 60.0


class Contents(ABC):
    """See the module."""

    _made: dict[str, Topic] | None = None

    @abstractmethod
    def call(
        self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float = 30.0
    ) -> Json:
        """One operation of the control channel."""

    # --- topics ---------------------------------------------------------------------------------

    def topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        replication: int | None = None,
        configs: Mapping[str, str] | None = None,
        exact: bool = False,
    ) -> Topic:
        """A topic of this test: made at the first call with this name, and led on return.

        Its real name is `name` and something of its own, which `Topic.name` tells; with `exact` it
        is `name`. Called again, the same topic comes back, unless it was deleted. `replication`
        None: the brokers' default.
        """
        made = self._topics()
        if name in made and not made[name].is_deleted:
            if exact and made[name].name != name:
                raise Misuse(f"the test has a topic {name} already, which is {made[name].name}")
            return made[name]
        real = name if exact else f"{name}-{secrets.token_hex(3)}"
        args = {
            "name": real,
            "partitions": partitions,
            "replication": -1 if replication is None else replication,
            "configs": {key: str(value) for key, value in (configs or {}).items()},
            "timeout_s": _CREATE_TIMEOUT_S,
        }
        self.call("topic.create", args, timeout_s=_CREATE_TIMEOUT_S + CALL_MARGIN_S)
        made[name] = Topic(self.call, real, name)
        return made[name]

    def existing_topic(self, name: str) -> Topic:
        """A topic that the application makes, or has made: by its real name, there or not."""
        return self._topics().get(name) or Topic(self.call, name)

    def topics(self) -> list[str]:
        """The real names of all topics that are not the brokers' own."""
        return sorted(self.call("topic.describe"))

    def drop_topics(self) -> None:
        """Delete the topics that `topic` has made."""
        made = self._topics()
        if made:
            self.call("topic.delete", {"names": [one.name for one in made.values()]})
        made.clear()

    def reset(self, *, timeout_s: float = GROUP_TIMEOUT_S) -> Mapping[str, Json]:
        """As if it were new; what was dropped, by name.

        Gone are topics, groups with their offsets, transactional ids, quotas, users of SCRAM,
        faults, what `requests` knows, and clients' connections. Configs, ACLs and levels of
        logging are as they were when it was started first. OttlaError where something was changed
        that nothing brings back: feature levels, delegation tokens, the password of a user that was
        there at first, a log directory that has failed. Clocks that were moved stay so.

        A client that goes on is not served meanwhile, and has its connection closed. Then it comes
        back, and is a client as any other: a consumer joins its group again, and a producer may
        have its topic made anew, where `auto.create.topics.enable` is true. Close clients with
        their test; what is left of one has the topics and groups of that test only.
        """
        self._topics().clear()
        found: Mapping[str, Json] = self.call(
            "reset", {"timeout_s": timeout_s}, timeout_s=timeout_s + CALL_MARGIN_S
        )
        return found

    # --- what clients have sent -----------------------------------------------------------------

    def requests(
        self,
        api: str | None = None,
        *,
        topic: str | Topic | None = None,
        client_id: str | None = None,
        after: int = 0,
    ) -> list[Request]:
        """The requests that clients really sent since the last reset, in their order.

        `api` is Kafka's name, such as `Produce`. `after`: only those with a higher `number`. The
        broker keeps the newest 20,000, up to 32 MiB.
        """
        args = {
            "api": api,
            "topic": None if topic is None else self._topic(topic).name,
            "client_id": client_id,
            "after": after,
        }
        return [request_from(one) for one in self.call("requests", args)]

    # --- what is expected -----------------------------------------------------------------------

    def assert_produced(
        self,
        topic: str | Topic,
        *,
        key: Content = ANY,
        value: Content = ANY,
        headers: Mapping[str, bytes | str | None] | None = None,
        partition: int | None = None,
        count: int | None = None,
        timeout: float = TIMEOUT_S,
    ) -> list[Record]:
        """A topic has a record like this, or `count` of them; they come back.

        A key or a value is compared as bytes; one that is no text but what JSON can say, by what
        it says; a function is asked with the bytes. Of `headers`, the record has these at least.
        """
        __tracebackhide__ = True
        return assertions.produced(
            self._topic(topic),
            key=key,
            value=value,
            headers=headers,
            partition=partition,
            count=count,
            timeout=timeout,
        )

    def assert_committed(
        self,
        group: str,
        topic: str | Topic,
        *,
        lag: int | None = None,
        offsets: Mapping[int, int] | None = None,
        timeout: float = TIMEOUT_S,
    ) -> None:
        """A group has committed so far in a topic: `offsets` by partition, or a `lag` in all, 0
        where neither is given. Markers of transactions are no lag."""
        __tracebackhide__ = True
        assertions.committed(
            self.call, group, self._topic(topic), lag=lag, offsets=offsets, timeout=timeout
        )

    def wait_idle(
        self, group: str, *, topics: Iterable[str | Topic] = (), timeout: float = GROUP_TIMEOUT_S
    ) -> None:
        """Until a group has committed all there is in its partitions, and in those of `topics`."""
        __tracebackhide__ = True
        assertions.idle(self.call, group, [self._topic(one) for one in topics], timeout)

    def wait_for_group(
        self,
        group: str,
        *,
        members: int | None = None,
        state: str = "Stable",
        timeout: float = GROUP_TIMEOUT_S,
    ) -> None:
        """Until a group is in a state of Kafka's, with so many members; "Dead": it is not there."""
        __tracebackhide__ = True
        assertions.group_state(self.call, group, members=members, state=state, timeout=timeout)

    # --- groups ---------------------------------------------------------------------------------

    def rebalance(self, group: str, *, timeout: float = REBALANCE_TIMEOUT_S) -> None:
        """Have all members of a group join anew, once; it is stable again on return."""
        args = {"group": group, "timeout_s": timeout}
        self.call("group.rebalance", args, timeout_s=timeout + CALL_MARGIN_S)

    def delete_group(self, group: str) -> None:
        """A group and its offsets are gone; its members are put out."""
        self.call("group.delete", {"groups": [group]})

    def _topic(self, topic: str | Topic) -> Topic:
        if isinstance(topic, Topic):
            return topic
        if not isinstance(topic, str) or not topic:
            raise Misuse(f"{topic!r} names no topic")
        return self.existing_topic(topic)

    def _topics(self) -> dict[str, Topic]:
        if self._made is None:
            self._made = {}
        return self._made
