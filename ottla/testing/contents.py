"""The contents of a broker or a cluster under test: topics, groups, and the requests of clients.

`Contents` is the base class of `Broker`, `Cluster` and `RunningCluster`. It owns the topics that
the test has created, by the names that the test gave them. It asks the broker only through `call`,
which its subclasses have.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from ottla.testing import assertions, share_assertions
from ottla.testing.assertions import ANY
from ottla.testing.errors import SHOW_THE_CALLER, Misuse
from ottla.testing.frames import Json
from ottla.testing.records import Content, Record
from ottla.testing.requests import Request, request_from
from ottla.testing.share_assertions import Expected
from ottla.testing.topic import CALL_MARGIN_S, TIMEOUT_S, Topic

__tracebackhide__ = SHOW_THE_CALLER

GROUP_TIMEOUT_S = 30.0
REBALANCE_TIMEOUT_S = 60.0
_CREATE_TIMEOUT_S = 60.0


class Contents(ABC):
    """The topics, groups and requests of a broker or a cluster under test, and assertions about
    them."""

    _created: dict[str, Topic] | None = None

    @abstractmethod
    def call(
        self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float = 30.0
    ) -> Json:
        """Return the answer of one operation of the control channel. Raises OttlaError."""

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
        """Return a topic of this test. The first call with a name creates it, and returns once its
        partitions have leaders.

        Its real name is `name` with a random suffix (`Topic.name`); with `exact` it is `name`. A
        further call returns the same topic, unless it was deleted. `replication` None: the brokers'
        default. Raises Misuse if `exact` is set and the test has a topic of this name with another
        real name. Raises OttlaError if the brokers reject the topic.
        """
        created = self._topics()
        if name in created and not created[name].is_deleted:
            if exact and created[name].name != name:
                raise Misuse(f"the test has a topic {name} already, which is {created[name].name}")
            return created[name]
        real_name = name if exact else f"{name}-{secrets.token_hex(3)}"
        args = {
            "name": real_name,
            "partitions": partitions,
            "replication": -1 if replication is None else replication,
            "configs": {key: str(value) for key, value in (configs or {}).items()},
            "timeout_s": _CREATE_TIMEOUT_S,
        }
        self.call("topic.create", args, timeout_s=_CREATE_TIMEOUT_S + CALL_MARGIN_S)
        created[name] = Topic(self.call, real_name, name)
        return created[name]

    def existing_topic(self, name: str) -> Topic:
        """Return a topic by the name that the test gave it, or by its real name if the application
        creates it. It need not exist yet."""
        return self._topics().get(name) or Topic(self.call, name)

    def topics(self) -> list[str]:
        """Return the real names of all topics, except of the brokers' internal ones."""
        return sorted(self.call("topic.describe"))

    def drop_topics(self) -> None:
        """Delete the topics that `topic` has created, and forget them. A topic that does not exist
        any more is ignored."""
        created = self._topics()
        if created:
            self.call("topic.delete", {"names": [topic.name for topic in created.values()]})
        created.clear()

    def reset(self, *, timeout_s: float = GROUP_TIMEOUT_S) -> Mapping[str, Json]:
        """Empty the broker, as if it were new. Return the names of what was deleted under "topics",
        "groups" and "transactional_ids", and the number of closed "connections".

        It deletes topics, groups with their offsets, transactional ids, quotas, SCRAM users,
        faults, the log of `requests`, and clients' connections. Configs, ACLs and log levels become
        what they were at the first start. Clocks that were moved stay moved. Raises OttlaError if
        something changed that cannot be undone: feature levels, delegation tokens, the password of
        a user that was there at the start, a failed log directory.

        A client that is still running is not served during the reset, and its connection is closed.
        Then it may connect again like any other client: a consumer joins its group again, and a
        producer may create its topic again if `auto.create.topics.enable` is true. So close clients
        with their test. A client that is left over can only use the topics and groups of its own
        test.
        """
        self._topics().clear()
        dropped: Mapping[str, Json] = self.call(
            "reset", {"timeout_s": timeout_s}, timeout_s=timeout_s + CALL_MARGIN_S
        )
        return dropped

    # --- clients' requests ----------------------------------------------------------------------

    def requests(
        self,
        api: str | None = None,
        *,
        topic: str | Topic | None = None,
        client_id: str | None = None,
        after: int = 0,
    ) -> list[Request]:
        """Return the requests that clients have sent since the last reset, in their order.

        `api` is Kafka's name, such as `Produce`. `topic` and `client_id`: only requests that name
        this topic, or of this client. `after`: only requests with a higher `number`. The broker
        keeps the newest 20,000, up to 32 MiB. Raises Misuse for an unknown API.
        """
        args = {
            "api": api,
            "topic": None if topic is None else self._topic(topic).name,
            "client_id": client_id,
            "after": after,
        }
        return [request_from(request) for request in self.call("requests", args)]

    # --- assertions -----------------------------------------------------------------------------

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
        """Wait until a topic has a record that matches, or exactly `count` of them, and return the
        records.

        A key or a value is compared as bytes. A dict or another JSON value is compared with the
        parsed bytes; a function is called with the bytes. The record must have all of `headers`,
        and may have more. With `count` 0 the topic is checked once, without waiting. Raises
        NotAsExpected after `timeout` seconds, or if more than `count` match.
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
        """Wait until a group has committed these `offsets` of a topic (by partition), or has this
        `lag` in total; without both, a lag of 0. Transaction markers do not count as lag.

        The offset of a share group is that before which all records are finished, and its lag
        counts the others. Raises NotAsExpected after `timeout` seconds."""
        __tracebackhide__ = True
        assertions.committed(
            self.call, group, self._topic(topic), lag=lag, offsets=offsets, timeout=timeout
        )

    def wait_idle(
        self, group: str, *, topics: Iterable[str | Topic] = (), timeout: float = GROUP_TIMEOUT_S
    ) -> None:
        """Wait until a group does not rebalance, and has committed all records of its partitions
        and of `topics`; a share group has finished them. Raises NotAsExpected after `timeout`
        seconds."""
        __tracebackhide__ = True
        assertions.idle(self.call, group, [self._topic(topic) for topic in topics], timeout)

    def wait_for_group(
        self,
        group: str,
        *,
        members: int | None = None,
        state: str = "Stable",
        timeout: float = GROUP_TIMEOUT_S,
    ) -> None:
        """Wait until a group is in this state (Kafka's name; "Dead" if there is no such group),
        with this number of members (None: any). Raises NotAsExpected after `timeout` seconds;
        Misuse if Kafka has no such state."""
        __tracebackhide__ = True
        assertions.group_state(self.call, group, members=members, state=state, timeout=timeout)

    def assert_delivered(
        self,
        group: str,
        topic: str | Topic,
        *,
        state: str = share_assertions.FINISHED,
        deliveries: int | None = None,
        key: Content = ANY,
        value: Content = ANY,
        headers: Mapping[str, bytes | str | None] | None = None,
        partition: int | None = None,
        count: int | None = None,
        timeout: float = TIMEOUT_S,
    ) -> list[Record]:
        """Wait until a share group has a record that matches, or exactly `count` of them, in a
        state, and return the records.

        `state`: "finished", "available", or, until all earlier records of the partition are
        finished, "acknowledged" or "archived". A record that a member has locked is available, too.
        `deliveries`: only records after this number of deliveries that have ended; it is not known
        of a record before which all are finished. The rest is as in `assert_produced`. Raises
        NotAsExpected after `timeout` seconds, Misuse for another state.
        """
        __tracebackhide__ = True
        return share_assertions.delivered(
            self.call,
            group,
            self._topic(topic),
            Expected(key, value, headers, partition, count),
            state=state,
            deliveries=deliveries,
            timeout=timeout,
        )

    def assert_dead_letter(
        self,
        group: str,
        topic: str | Topic,
        *,
        key: Content = ANY,
        value: Content = ANY,
        headers: Mapping[str, bytes | str | None] | None = None,
        partition: int | None = None,
        count: int | None = None,
        timeout: float = TIMEOUT_S,
    ) -> list[Record]:
        """Wait until a record of `topic` that matches, or exactly `count` of them, is a dead letter
        of a share group, and return the letters. They are in the topic that the group's config
        names. Raises NotAsExpected after `timeout` seconds."""
        __tracebackhide__ = True
        expected = Expected(key, value, headers, partition, count)
        return share_assertions.dead_letters(
            self.call, group, self._topic(topic), expected, timeout=timeout
        )

    # --- groups ---------------------------------------------------------------------------------

    def configure_group(self, group: str, configs: Mapping[str, object]) -> None:
        """Set configs of a group, such as `share.auto.offset.reset` (None: its default), and return
        when every broker has them. The group need not exist yet. Raises OttlaError if the brokers
        reject a config."""
        settings = {key: None if value is None else str(value) for key, value in configs.items()}
        self.call("group.configure", {"group": group, "configs": settings})

    def rebalance(self, group: str, *, timeout: float = REBALANCE_TIMEOUT_S) -> None:
        """Make all members of a group join again, once. Return when the group is stable. Raises
        OttlaError if it has no members, DeadlinePassed after `timeout` seconds."""
        args = {"group": group, "timeout_s": timeout}
        self.call("group.rebalance", args, timeout_s=timeout + CALL_MARGIN_S)

    def delete_group(self, group: str) -> None:
        """Delete a group with its offsets, after removing its members. A group that does not exist
        is ignored. Raises OttlaError."""
        self.call("group.delete", {"groups": [group]})

    def _topic(self, topic: str | Topic) -> Topic:
        """Return the topic; a name counts as that of an existing topic. Raises Misuse for an empty
        name or another type."""
        if isinstance(topic, Topic):
            return topic
        if not isinstance(topic, str) or not topic:
            raise Misuse(f"{topic!r} names no topic")
        return self.existing_topic(topic)

    def _topics(self) -> dict[str, Topic]:
        """Return the topics that `topic` has created, by the names that the test gave them: the
        dict itself, to be changed."""
        if self._created is None:
            self._created = {}
        return self._created
