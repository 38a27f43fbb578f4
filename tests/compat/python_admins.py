"""The admin clients of confluent-kafka, kafka-python and aiokafka behind one face.

A refusal of the broker is `Refused` with Kafka's error code, what a client cannot do is `Lacking`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol

from tests.compat.python_clients import TIMEOUT_S, Refused

TOPIC = "topic"
BROKER = "broker"


class Lacking(Exception):
    """The client has no such call."""


class Cluster(NamedTuple):
    """What DescribeCluster, or Metadata, says."""

    cluster_id: str | None
    controller_id: int
    brokers: list[tuple[int, str, int]]


class Admin(Protocol):
    """One of the three."""

    def create(
        self, topic: str, partitions: int, configs: dict[str, str] | None = None
    ) -> None: ...

    def delete(self, topic: str) -> None: ...

    def topics(self) -> list[str]: ...

    def partition_leaders(self, topic: str) -> dict[int, int]:
        """Partition → id of its leader."""

    def grow(self, topic: str, partitions: int) -> None: ...

    def config(self, kind: str, name: str, key: str) -> str | None: ...

    def set_config(self, topic: str, key: str, value: str) -> None: ...

    def delete_records(self, topic: str, offset: int) -> int:
        """The low watermark of partition 0 after it."""

    def cluster(self) -> Cluster: ...

    def groups(self) -> list[str]: ...

    def group_state(self, group: str) -> str: ...

    def group_offsets(self, group: str) -> dict[tuple[str, int], int]: ...

    def set_group_offset(self, group: str, topic: str, offset: int) -> None: ...

    def delete_group_offset(self, group: str, topic: str) -> None: ...

    def delete_group(self, group: str) -> None: ...

    def set_user(self, name: str, mechanism: str, password: str, iterations: int) -> None: ...

    def delete_user(self, name: str, mechanism: str) -> None: ...

    def users(self) -> dict[str, dict[str, int]]:
        """By name, iterations by mechanism; of SCRAM."""

    def close(self) -> None: ...


# --- confluent-kafka -----------------------------------------------------------------------------


class ConfluentAdmin:
    """librdkafka."""

    def __init__(self, servers: str) -> None:
        from confluent_kafka.admin import AdminClient

        self._admin = AdminClient({"bootstrap.servers": servers})

    def _one(self, futures: Any) -> Any:
        from confluent_kafka import KafkaException

        (future,) = futures.values() if isinstance(futures, dict) else (futures,)
        try:
            return future.result(TIMEOUT_S)
        except KafkaException as error:
            raise Refused(error.args[0].code(), error.args[0].str()) from error

    def create(self, topic: str, partitions: int, configs: dict[str, str] | None = None) -> None:
        from confluent_kafka.admin import NewTopic

        new = NewTopic(topic, partitions, 1, config=configs or {})
        self._one(self._admin.create_topics([new]))

    def delete(self, topic: str) -> None:
        self._one(self._admin.delete_topics([topic]))

    def topics(self) -> list[str]:
        return list(self._admin.list_topics(timeout=TIMEOUT_S).topics)

    def partition_leaders(self, topic: str) -> dict[int, int]:
        from confluent_kafka import TopicCollection

        described = self._one(self._admin.describe_topics(TopicCollection([topic])))
        return {one.id: one.leader.id for one in described.partitions}

    def grow(self, topic: str, partitions: int) -> None:
        from confluent_kafka.admin import NewPartitions

        self._one(self._admin.create_partitions([NewPartitions(topic, partitions)]))

    def config(self, kind: str, name: str, key: str) -> str | None:
        from confluent_kafka.admin import ConfigResource

        configs = self._one(self._admin.describe_configs([ConfigResource(kind, name)]))
        value: str | None = configs[key].value
        return value

    def set_config(self, topic: str, key: str, value: str) -> None:
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(TOPIC, topic, incremental_configs=[entry])
        self._one(self._admin.incremental_alter_configs([resource]))

    def delete_records(self, topic: str, offset: int) -> int:
        from confluent_kafka import TopicPartition

        deleted = self._one(self._admin.delete_records([TopicPartition(topic, 0, offset)]))
        low: int = deleted.low_watermark
        return low

    def cluster(self) -> Cluster:
        described = self._one(self._admin.describe_cluster())
        brokers = [(node.id, node.host, node.port) for node in described.nodes]
        return Cluster(described.cluster_id, described.controller.id, brokers)

    def groups(self) -> list[str]:
        listed = self._one(self._admin.list_consumer_groups())
        assert not listed.errors
        return [one.group_id for one in listed.valid]

    def group_state(self, group: str) -> str:
        state: str = self._one(self._admin.describe_consumer_groups([group])).state.name
        return state.capitalize()

    def group_offsets(self, group: str) -> dict[tuple[str, int], int]:
        from confluent_kafka import ConsumerGroupTopicPartitions as Offsets

        found = self._one(self._admin.list_consumer_group_offsets([Offsets(group)]))
        return {(one.topic, one.partition): one.offset for one in found.topic_partitions}

    def set_group_offset(self, group: str, topic: str, offset: int) -> None:
        from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

        offsets = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, offset)])
        self._one(self._admin.alter_consumer_group_offsets([offsets]))

    def delete_group_offset(self, group: str, topic: str) -> None:
        raise Lacking("confluent-kafka does not show librdkafka's DeleteConsumerGroupOffsets")

    def delete_group(self, group: str) -> None:
        self._one(self._admin.delete_consumer_groups([group]))

    def set_user(self, name: str, mechanism: str, password: str, iterations: int) -> None:
        from confluent_kafka import admin

        info = admin.ScramCredentialInfo(_named(admin.ScramMechanism, mechanism), iterations)
        change = admin.UserScramCredentialUpsertion(name, info, password.encode())
        self._one(self._admin.alter_user_scram_credentials([change]))

    def delete_user(self, name: str, mechanism: str) -> None:
        from confluent_kafka import admin

        change = admin.UserScramCredentialDeletion(name, _named(admin.ScramMechanism, mechanism))
        self._one(self._admin.alter_user_scram_credentials([change]))

    def users(self) -> dict[str, dict[str, int]]:
        described = self._one(self._admin.describe_user_scram_credentials())
        return {
            name: {_sasl_name(one.mechanism): one.iterations for one in user.scram_credential_infos}
            for name, user in described.items()
        }

    def close(self) -> None:
        """It ends with the object."""


# --- kafka-python --------------------------------------------------------------------------------


class KafkaPythonAdmin:
    """kafka-python."""

    def __init__(self, servers: str) -> None:
        from kafka.admin import KafkaAdminClient

        self._admin = KafkaAdminClient(bootstrap_servers=servers)

    def _call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        from kafka.errors import BrokerResponseError

        try:
            return function(*arguments, **options)
        except BrokerResponseError as error:
            raise Refused(error.errno, str(error)) from error

    def create(self, topic: str, partitions: int, configs: dict[str, str] | None = None) -> None:
        new = {"num_partitions": partitions, "replication_factor": 1, "configs": configs or {}}
        self._call(self._admin.create_topics, {topic: new})

    def delete(self, topic: str) -> None:
        self._call(self._admin.delete_topics, [topic])

    def topics(self) -> list[str]:
        names: list[str] = self._admin.list_topics()
        return names

    def partition_leaders(self, topic: str) -> dict[int, int]:
        (described,) = self._call(self._admin.describe_topics, [topic])
        return {one["partition_index"]: one["leader_id"] for one in described["partitions"]}

    def grow(self, topic: str, partitions: int) -> None:
        self._call(self._admin.create_partitions, {topic: partitions})

    def config(self, kind: str, name: str, key: str) -> str | None:
        from kafka.admin import ConfigResource

        resource = ConfigResource(kind.upper(), name)
        described = self._call(self._admin.describe_configs, [resource], config_filter="all")
        value: str | None = described[kind][name][key]["value"]
        return value

    def set_config(self, topic: str, key: str, value: str) -> None:
        from kafka.admin import ConfigResource

        resource = ConfigResource("TOPIC", topic, {key: value})
        altered = self._call(self._admin.alter_configs, [resource], raise_on_unknown=False)
        self._settled(altered["topic"])

    def delete_records(self, topic: str, offset: int) -> int:
        from kafka import TopicPartition

        partition = TopicPartition(topic, 0)
        answer = self._call(self._admin.delete_records, {partition: offset})
        low: int = answer[partition]["low_watermark"]
        return low

    def cluster(self) -> Cluster:
        described = self._admin.describe_cluster()
        brokers = [(one["broker_id"], one["host"], one["port"]) for one in described["brokers"]]
        return Cluster(described["cluster_id"], described["controller_id"], brokers)

    def groups(self) -> list[str]:
        return [one["group_id"] for one in self._admin.list_groups()]

    def group_state(self, group: str) -> str:
        state: str = self._call(self._admin.describe_groups, [group])[group]["group_state"]
        return state

    def group_offsets(self, group: str) -> dict[tuple[str, int], int]:
        found = self._call(self._admin.list_group_offsets, [group])[group]
        return {(one.topic, one.partition): at.offset for one, at in found.items()}

    def set_group_offset(self, group: str, topic: str, offset: int) -> None:
        from kafka import TopicPartition
        from kafka.structs import OffsetAndMetadata

        offsets = {TopicPartition(topic, 0): OffsetAndMetadata(offset, "", -1)}
        self._settled(self._call(self._admin.alter_group_offsets, group, offsets))

    def delete_group_offset(self, group: str, topic: str) -> None:
        from kafka import TopicPartition

        partition = TopicPartition(topic, 0)
        self._settled(self._call(self._admin.delete_group_offsets, group, [partition]))

    def delete_group(self, group: str) -> None:
        self._settled(self._call(self._admin.delete_groups, [group]))

    def set_user(self, name: str, mechanism: str, password: str, iterations: int) -> None:
        from kafka.admin import UserScramCredentialUpsertion

        self._alter_user(UserScramCredentialUpsertion(name, mechanism, password, iterations))

    def delete_user(self, name: str, mechanism: str) -> None:
        from kafka.admin import UserScramCredentialDeletion

        self._alter_user(UserScramCredentialDeletion(name, mechanism))

    def _alter_user(self, change: Any) -> None:
        """It tells the words of an error, not the number."""
        for text in self._call(self._admin.alter_user_scram_credentials, [change]).values():
            if text is not None:
                raise Refused(-1, text)

    def users(self) -> dict[str, dict[str, int]]:
        described = self._call(self._admin.describe_user_scram_credentials)
        return {
            name: {
                _sasl_name(one["mechanism"]): one["iterations"] for one in user["credential_infos"]
            }
            for name, user in described.items()
        }

    def _settled(self, outcomes: Any) -> None:
        """An outcome is "OK", an error's class, its name, or its text with the number in it."""
        from kafka import errors

        for what, outcome in outcomes.items():
            numbered = re.match(r"\[Error (\d+)\]", str(outcome))
            if numbered:
                code = int(numbered[1])
            elif isinstance(outcome, str):
                code = 0 if outcome == "OK" else getattr(errors, outcome).errno
            else:
                code = outcome.errno
            if code:
                raise Refused(code, f"{what}: {outcome}")

    def close(self) -> None:
        self._admin.close()


# --- aiokafka ------------------------------------------------------------------------------------


class AiokafkaAdmin:
    """aiokafka, in a loop that runs during its calls."""

    def __init__(self, servers: str) -> None:
        self._runner = asyncio.Runner()
        self._admin = self._runner.run(self._started(servers))

    async def _started(self, servers: str) -> Any:
        from aiokafka.admin import AIOKafkaAdminClient

        admin = AIOKafkaAdminClient(bootstrap_servers=servers)
        await admin.start()
        return admin

    def _call(self, function: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        from aiokafka.errors import BrokerResponseError

        async def run() -> Any:
            return await function(*arguments)

        try:
            return self._runner.run(run())
        except BrokerResponseError as error:
            raise Refused(error.errno, str(error)) from error

    def create(self, topic: str, partitions: int, configs: dict[str, str] | None = None) -> None:
        from aiokafka.admin import NewTopic

        new = NewTopic(topic, partitions, 1, topic_configs=configs or {})
        self._check(self._call(self._admin.create_topics, [new]).topic_errors)

    def _check(self, errors: Any) -> None:
        for name, code, *_ in errors:
            if code:
                raise Refused(code, name)

    def delete(self, topic: str) -> None:
        self._check(self._call(self._admin.delete_topics, [topic]).topic_error_codes)

    def topics(self) -> list[str]:
        names: list[str] = self._call(self._admin.list_topics)
        return names

    def partition_leaders(self, topic: str) -> dict[int, int]:
        (described,) = self._call(self._admin.describe_topics, [topic])
        if described["error_code"]:
            raise Refused(described["error_code"], topic)
        return {one["partition"]: one["leader"] for one in described["partitions"]}

    def grow(self, topic: str, partitions: int) -> None:
        from aiokafka.admin import NewPartitions

        self._call(self._admin.create_partitions, {topic: NewPartitions(partitions)})

    def config(self, kind: str, name: str, key: str) -> str | None:
        from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

        resource = ConfigResource(ConfigResourceType[kind.upper()], name)
        (response,) = self._call(self._admin.describe_configs, [resource])
        ((code, text, _, _, entries),) = response.resources
        if code:
            raise Refused(code, text)
        values: dict[str, str | None] = {entry[0]: entry[1] for entry in entries}
        return values[key]

    def set_config(self, topic: str, key: str, value: str) -> None:
        from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {key: value})
        (response, *_) = self._call(self._admin.alter_configs, [resource])
        for code, text, *_ in response.resources:
            if code:
                raise Refused(code, text)

    def delete_records(self, topic: str, offset: int) -> int:
        from aiokafka.admin.records_to_delete import RecordsToDelete
        from aiokafka.structs import TopicPartition

        partition = TopicPartition(topic, 0)
        deleted = self._call(self._admin.delete_records, {partition: RecordsToDelete(offset)})
        low: int = deleted[partition]
        return low

    def cluster(self) -> Cluster:
        described = self._call(self._admin.describe_cluster)
        brokers = [(one["node_id"], one["host"], one["port"]) for one in described["brokers"]]
        return Cluster(described["cluster_id"], described["controller_id"], brokers)

    def groups(self) -> list[str]:
        return [one[0] for one in self._call(self._admin.list_consumer_groups)]

    def group_state(self, group: str) -> str:
        (response,) = self._call(self._admin.describe_consumer_groups, [group])
        ((code, _, state, *_),) = response.groups
        if code:
            raise Refused(code, group)
        return str(state)

    def group_offsets(self, group: str) -> dict[tuple[str, int], int]:
        found = self._call(self._admin.list_consumer_group_offsets, group)
        return {(one.topic, one.partition): at.offset for one, at in found.items()}

    def set_group_offset(self, group: str, topic: str, offset: int) -> None:
        raise Lacking("aiokafka cannot change a group's offsets")

    def delete_group_offset(self, group: str, topic: str) -> None:
        raise Lacking("aiokafka cannot delete a group's offsets")

    def delete_group(self, group: str) -> None:
        raise Lacking("aiokafka cannot delete groups")

    def set_user(self, name: str, mechanism: str, password: str, iterations: int) -> None:
        raise Lacking("aiokafka cannot alter SCRAM credentials")

    def delete_user(self, name: str, mechanism: str) -> None:
        raise Lacking("aiokafka cannot alter SCRAM credentials")

    def users(self) -> dict[str, dict[str, int]]:
        raise Lacking("aiokafka cannot describe SCRAM credentials")

    def close(self) -> None:
        self._runner.run(self._admin.close())
        self._runner.close()


def _named(mechanisms: Any, sasl_name: str) -> Any:
    return mechanisms[sasl_name.replace("-", "_")]


def _sasl_name(mechanism: Any) -> str:
    return str(mechanism.name).replace("_", "-")


def python_admin(name: str, servers: str) -> Admin:
    """The admin client of the library called `name`."""
    admins: dict[str, Callable[[str], Admin]] = {
        "confluent-kafka": ConfluentAdmin,
        "kafka-python": KafkaPythonAdmin,
        "aiokafka": AiokafkaAdmin,
    }
    return admins[name](servers)
