"""I13: committed metadata is never lost, deleted topics do not return, configs are those set.

What one broker tells is what is so, at once. A broker of a cluster tells what was so, for it may be
behind; once the cluster is at rest all tell what is so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from simulation.invariants.invariant import UNSURE, Invariant, Register
from simulation.network.sim_network import Exchange
from tests.simulation.admins import CONFIG

TOPIC_ID_IN_CREATE_FROM = 7
TOPIC_ID_IN_DELETE_FROM = 6


@dataclass(slots=True)
class KnownTopic:
    """A topic that somebody was told of: it is committed."""

    name: str
    told_ms: float
    since_ms: float
    """It existed at this moment. 0 where only brokers that may be behind have told of it: it may
    have been deleted before they did."""
    sizes: list[tuple[float, int]]
    """When it was known to have how many partitions; rising."""

    def size_at(self, when_ms: float) -> int:
        """The partitions that somebody was told of before a moment."""
        return max((size for told_ms, size in self.sizes if told_ms <= when_ms), default=0)


class MetadataIsNeverLost(Invariant):
    """I13: what was told is there until somebody deletes it; what was deleted does not return."""

    name = "I13"
    stands_power_loss = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.topics: dict[bytes, KnownTopic] = {}
        self._created: dict[str, float] = {}
        self._gone: dict[bytes, float] = {}
        self._deletes: list[Exchange] = []
        self._refused: dict[Exchange, None] = {}
        self._unsure: dict[Exchange, None] = {}
        self._configs: dict[str, Register] = {}
        self._epochs: dict[tuple[str, bytes, int], tuple[float, int]] = {}

    # --- what is changed -----------------------------------------------------------------------

    def handled(self, exchange: Exchange) -> None:
        if exchange.key is ApiKey.DELETE_TOPICS:
            self._deletes.append(exchange)
        elif exchange.key is ApiKey.INCREMENTAL_ALTER_CONFIGS:
            for resource in exchange.request.resources:
                for config in resource.configs:
                    register = self._configs.setdefault(
                        resource.resource_name, Register(None, reordered=self.in_cluster)
                    )
                    register.write(exchange, config.value)

    def received(self, exchange: Exchange) -> None:
        key, response = exchange.key, exchange.response
        if key is ApiKey.CREATE_TOPICS:
            self._take_creation(exchange)
        elif key is ApiKey.DELETE_TOPICS:
            self._take_deletion(exchange)
        elif key is ApiKey.INCREMENTAL_ALTER_CONFIGS:
            for told in response.responses:
                if told.error_code and told.resource_name in self._configs:
                    self._configs[told.resource_name].refuse(exchange, told.error_code)
        elif key is ApiKey.METADATA:
            self._check(exchange)
        elif key is ApiKey.DESCRIBE_CONFIGS:
            self._check_configs(exchange)

    def _take_creation(self, exchange: Exchange) -> None:
        for told in exchange.response.topics:
            if told.error_code:
                continue
            assert exchange.answered_ms is not None
            self._created[told.name] = exchange.answered_ms
            if exchange.version >= TOPIC_ID_IN_CREATE_FROM:
                self._told(
                    told.topic_id, told.name, exchange.answered_ms, told.num_partitions, exact=True
                )

    def _take_deletion(self, exchange: Exchange) -> None:
        for told in exchange.response.responses:
            if told.error_code:
                # A broker sends again what a controller may have done already.
                sure = ErrorCode(told.error_code) not in UNSURE and not self.in_cluster
                (self._refused if sure else self._unsure)[exchange] = None
                continue
            if exchange.version >= TOPIC_ID_IN_DELETE_FROM:
                self._gone[told.topic_id] = self.world.now_ms
                continue
            for topic_id, known in self.topics.items():
                if known.name == told.name and known.told_ms < exchange.sent_ms:
                    self._gone.setdefault(topic_id, self.world.now_ms)

    def _may_be_deleted(self, name: str, since_ms: float, by_ms: float) -> bool:
        """Whether a deletion that was not refused can have come between these moments."""
        for exchange in self._deletes:
            request = exchange.request
            if exchange.version >= TOPIC_ID_IN_DELETE_FROM:
                known = [self.topics.get(one.topic_id) for one in request.topics]
                named = any(one is not None and one.name == name for one in known) or any(
                    one.name == name for one in request.topics
                )
            else:
                named = name in request.topic_names
            if not named or exchange in self._refused:
                continue
            assert exchange.handled_ms is not None
            unsure = exchange in self._unsure or (self.in_cluster and exchange.response is None)
            after = exchange.answered_ms is None or exchange.answered_ms >= since_ms
            if (after or unsure) and exchange.handled_ms <= by_ms:
                return True
        return False

    # --- what is told --------------------------------------------------------------------------

    def _told(
        self, topic_id: bytes, name: str, told_ms: float, partitions: int, *, exact: bool
    ) -> None:
        known = self.topics.setdefault(topic_id, KnownTopic(name, told_ms, 0.0, []))
        if exact:
            known.since_ms = max(known.since_ms, told_ms)
        if known.name != name:
            raise self.broken(f"topic id {topic_id.hex()} was {known.name} and is {name}")
        if not known.sizes or known.sizes[-1][1] < partitions:
            known.sizes.append((self.world.now_ms, partitions))

    def _check(self, exchange: Exchange) -> None:
        there = {one.topic_id: one for one in exchange.response.topics if not one.error_code}
        asked = None
        if exchange.request.topics is not None:
            asked = [one.name for one in exchange.request.topics]
        names = [one.name for one in there.values()]
        if len(set(names)) != len(names):
            raise self.broken(f"a name twice in the metadata: {sorted(names)}")
        if self._is_exact(exchange):
            self._check_absent(exchange, there, names, asked)
        for topic_id, told in there.items():
            self._check_present(exchange, topic_id, told)

    def _is_exact(self, exchange: Exchange) -> bool:
        """Whether the answer has to tell all that was so when it was asked for."""
        return not self.in_cluster or exchange.sent_ms >= self.promises.calm_since_ms

    def _check_absent(
        self, exchange: Exchange, there: dict[bytes, Any], names: list[str], asked: Any
    ) -> None:
        """What exists is told of."""
        assert exchange.answered_ms is not None
        by_ms = exchange.answered_ms
        for topic_id, known in self.topics.items():
            if topic_id in there or known.told_ms > exchange.sent_ms:
                continue
            if asked is not None and known.name not in asked:
                continue
            may_be = self._may_be_deleted(known.name, known.since_ms, by_ms)
            if topic_id not in self._gone and not may_be:
                raise self.broken(f"{exchange.client} is not told of {known.name}, which exists")
        for name, told_ms in self._created.items():
            if name in names or told_ms > exchange.sent_ms or (asked and name not in asked):
                continue
            if not self._may_be_deleted(name, told_ms, by_ms):
                raise self.broken(f"{name} was created, and {exchange.client} is not told of it")

    def _check_present(self, exchange: Exchange, topic_id: bytes, told: Any) -> None:
        exact = self._is_exact(exchange)
        if exact and self._gone.get(topic_id, exchange.sent_ms) < exchange.sent_ms:
            raise self.broken(f"{told.name} {topic_id.hex()[:8]} was deleted and is told of")
        known = self.topics.get(topic_id)
        had = known.size_at(exchange.sent_ms) if known is not None else 0
        if exact and len(told.partitions) < had:
            raise self.broken(f"{told.name} had {had} partitions, and has {len(told.partitions)}")
        assert exchange.answered_ms is not None
        partitions = len(told.partitions)
        self._told(topic_id, told.name, exchange.answered_ms, partitions, exact=exact)
        for partition in told.partitions:
            place = (exchange.node, topic_id, partition.partition_index)
            when, epoch = self._epochs.get(place, (0.0, -1))
            if when <= exchange.sent_ms and partition.leader_epoch < epoch:
                raise self.broken(f"leader epoch of {place} went back from {epoch}")
            if partition.leader_epoch > epoch:
                self._epochs[place] = (self.world.now_ms, partition.leader_epoch)

    def _check_configs(self, exchange: Exchange) -> None:
        for result in exchange.response.results:
            register = self._configs.get(result.resource_name)
            if result.error_code or register is None or not self._is_exact(exchange):
                continue
            for config in result.configs:
                # A value that nobody set is the default: the register's None.
                value = config.value if config.config_source == 1 else None
                allowed = register.allowed(exchange)
                if config.name == CONFIG and value not in allowed:
                    raise self.broken(
                        f"{CONFIG} of {result.resource_name} is {value}, must be in {allowed}"
                    )

    def at_end(self, final: Any) -> None:
        for (topic_id, index), read in final.partitions.items():
            if topic_id in self._gone:
                raise self.broken(f"{read.topic}-{index} was deleted and can be read")


METADATA_INVARIANTS = (MetadataIsNeverLost,)
