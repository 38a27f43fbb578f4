"""The changes of a batch of records: from one `MetadataImage` to the next.

`replay(record)` adds a change, `apply(...)` makes the new image. Only topics that changed are
copied. Brokers and the controller replay the same records through the same code. A metadata
listener gets the delta together with the new image, so its work depends on the size of the change
and not of the image.

Owns: the meaning of every metadata record. Never: decides, and never reads a clock.

Follows Kafka's `MetadataDelta`, `TopicsDelta`, `TopicDelta`, `ClusterDelta`, `ScramDelta`,
`DelegationTokenDelta` and `ClientQuotasDelta`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controller.metadata.acl import Acl, acl_of
from controller.metadata.client_quotas import QuotaEntity, entity_of
from controller.metadata.delegation_token import DelegationToken
from controller.metadata.image import (
    BrokerRegistration,
    ConfigResource,
    ControllerRegistration,
    Endpoint,
    MetadataImage,
    PartitionRegistration,
    ScramImage,
)
from controller.metadata.records import MetadataRecord, MetadataRecordError, record_name
from controller.metadata.scram_credential import ScramCredential, ScramMechanism
from controller.metadata.topics_delta import TopicsDelta
from protocol.messages import metadata_records as m

_FENCED = 1
_UNFENCED = -1
_SHUTTING_DOWN = 1


class MetadataDelta:
    """The changes since `image`."""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self.topics = TopicsDelta(image.topics)
        self.changed_brokers: dict[int, BrokerRegistration | None] = {}
        """The new registration of each changed broker; None: unregistered."""
        self.changed_controllers: dict[int, ControllerRegistration | None] = {}
        """The new registration of each changed controller; None: unregistered."""
        self.changed_configs: dict[ConfigResource, dict[str, str]] = {}
        """All present configs of each changed resource; empty after the last one is removed."""
        self.changed_features: dict[str, int] = {}
        self.changed_scram: dict[str, dict[ScramMechanism, ScramCredential]] = {}
        """All present credentials of each changed user; empty after the last one is removed."""
        self.changed_acls: dict[bytes, Acl | None] = {}
        """The added ACLs by id; None: removed."""
        self.changed_tokens: dict[str, DelegationToken | None] = {}
        """The new or changed tokens by id; None: removed."""
        self.changed_quotas: dict[QuotaEntity, dict[str, float]] = {}
        """All present values of each changed entity; empty after the last one is removed."""
        self._next_producer_id = image.next_producer_id

    @property
    def is_empty(self) -> bool:
        """Whether no part of the image has changed."""
        return not (
            self.topics.changed
            or self.topics.deleted
            or self.changed_brokers
            or self.changed_controllers
            or self.changed_configs
            or self.changed_features
            or self.changed_scram
            or self.changed_acls
            or self.changed_tokens
            or self.changed_quotas
            or self._next_producer_id != self.image.next_producer_id
        )

    def replay(self, record: MetadataRecord) -> None:
        """Add a record's change to this delta. Raises MetadataRecordError if the record's type is
        unknown, or the record contradicts the image with the changes so far."""
        replay = _REPLAY.get(type(record))
        if replay is None:
            raise MetadataRecordError(f"no rule to replay a {record_name(record)}")
        replay(self, record)

    def apply(self, offset: int, epoch: int, timestamp_ms: int) -> MetadataImage:
        """Return the image with all changes, as of `offset`."""
        return MetadataImage(
            offset=offset,
            epoch=epoch,
            timestamp_ms=timestamp_ms,
            topics=self.topics.apply(),
            brokers=_merged(self.image.brokers, self.changed_brokers),
            controllers=_merged(self.image.controllers, self.changed_controllers),
            configs=_merged(
                self.image.configs,
                {key: configs or None for key, configs in self.changed_configs.items()},
            ),
            features=_merged(
                self.image.features,
                {name: level or None for name, level in self.changed_features.items()},
            ),
            next_producer_id=self._next_producer_id,
            scram=self._scram_image(),
            acls=self.image.acls.changed(self.changed_acls),
            tokens=_merged(self.image.tokens, self.changed_tokens),
            client_quotas=_merged(
                self.image.client_quotas,
                {entity: values or None for entity, values in self.changed_quotas.items()},
            ),
        )

    # --- brokers and controllers ---------------------------------------------------------------

    def _register_broker(self, record: m.RegisterBrokerRecord) -> None:
        """Set a broker's registration, in place of an earlier one."""
        self.changed_brokers[record.broker_id] = BrokerRegistration(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            endpoints=_endpoints(record.end_points),
            features=_features(record.features),
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            log_dirs=tuple(record.log_dirs),
            cordoned_log_dirs=_optional_tuple(record.cordoned_log_dirs),
        )

    def _unregister_broker(self, record: m.UnregisterBrokerRecord) -> None:
        """Remove a broker's registration. Raises MetadataRecordError unless the broker is
        registered with the record's epoch."""
        self._broker(record.broker_id, record.broker_epoch)
        self.changed_brokers[record.broker_id] = None

    def _change_broker(self, record: m.BrokerRegistrationChangeRecord) -> None:
        """Change those fields of a broker's registration that the record sets. Raises
        MetadataRecordError unless the broker is registered with the record's epoch."""
        broker = self._broker(record.broker_id, record.broker_epoch)
        if record.fenced in (_FENCED, _UNFENCED):
            broker = broker._replace(fenced=record.fenced == _FENCED)
        if record.in_controlled_shutdown == _SHUTTING_DOWN:
            broker = broker._replace(in_controlled_shutdown=True)
        if record.log_dirs:
            broker = broker._replace(log_dirs=tuple(record.log_dirs))
        if record.cordoned_log_dirs is not None:
            broker = broker._replace(cordoned_log_dirs=tuple(record.cordoned_log_dirs))
        self.changed_brokers[record.broker_id] = broker

    def _fence_broker(self, record: m.FenceBrokerRecord) -> None:
        """Fence a broker. Raises MetadataRecordError unless the broker is registered with the
        record's epoch."""
        broker = self._broker(record.id, record.epoch)
        self.changed_brokers[record.id] = broker._replace(fenced=True)

    def _unfence_broker(self, record: m.UnfenceBrokerRecord) -> None:
        """Unfence a broker. Raises MetadataRecordError unless the broker is registered with the
        record's epoch."""
        broker = self._broker(record.id, record.epoch)
        self.changed_brokers[record.id] = broker._replace(fenced=False)

    def _broker(self, broker_id: int, epoch: int) -> BrokerRegistration:
        """Return a broker's registration after the changes so far. Raises MetadataRecordError
        unless the broker is registered with this epoch."""
        if broker_id in self.changed_brokers:
            broker = self.changed_brokers[broker_id]
        else:
            broker = self.image.brokers.get(broker_id)
        if broker is None or broker.epoch != epoch:
            state = "is not registered" if broker is None else f"has epoch {broker.epoch}"
            raise MetadataRecordError(f"record for broker {broker_id} epoch {epoch}: it {state}")
        return broker

    def _register_controller(self, record: m.RegisterControllerRecord) -> None:
        """Set a controller's registration, in place of an earlier one."""
        self.changed_controllers[record.controller_id] = ControllerRegistration(
            id=record.controller_id,
            incarnation_id=record.incarnation_id,
            endpoints=_endpoints(record.end_points),
            features=_features(record.features),
            zk_migration_ready=record.zk_migration_ready,
        )

    def _unregister_controller(self, record: m.UnregisterControllerRecord) -> None:
        """Remove a controller's registration."""
        self.changed_controllers[record.controller_id] = None

    # --- topics --------------------------------------------------------------------------------

    def _add_topic(self, record: m.TopicRecord) -> None:
        self.topics.create(record.name, record.topic_id)

    def _set_partition(self, record: m.PartitionRecord) -> None:
        """Set the whole state of a new or existing partition. Raises MetadataRecordError if the
        topic is unknown."""
        registration = PartitionRegistration(
            replicas=tuple(record.replicas),
            directories=tuple(record.directories) or (bytes(16),) * len(record.replicas),
            isr=tuple(record.isr),
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            leader_recovery_state=record.leader_recovery_state,
            removing_replicas=tuple(record.removing_replicas),
            adding_replicas=tuple(record.adding_replicas),
            elr=tuple(record.eligible_leader_replicas or ()),
            last_known_elr=tuple(record.last_known_elr or ()),
        )
        self.topics.set_partition(record.topic_id, record.partition_id, registration)

    def _change_partition(self, record: m.PartitionChangeRecord) -> None:
        """Change those fields of a partition that the record contains. Raises MetadataRecordError
        if the topic or partition is unknown."""
        self.topics.change_partition(record)

    def _remove_topic(self, record: m.RemoveTopicRecord) -> None:
        """Remove a topic with its configs. Raises MetadataRecordError if the topic is unknown."""
        topic = self.topics.remove(record.topic_id)
        # In Kafka too, RemoveTopicRecord implies the removal of the topic's configs.
        key = (2, topic.name)
        if self._configs_of(key):
            self.changed_configs[key] = {}

    def _clear_elr(self, record: m.ClearElrRecord) -> None:
        """Empty the eligible leader replicas of the named topic's partitions; of all topics if the
        name is empty."""
        self.topics.clear_elr(record.topic_name)

    # --- configs, features, ids ----------------------------------------------------------------

    def _configs_of(self, key: ConfigResource) -> Mapping[str, str]:
        """Return all configs of a resource after the changes so far; empty if it has none."""
        changed = self.changed_configs.get(key)
        return self.image.configs.get(key, {}) if changed is None else changed

    def _set_config(self, record: m.ConfigRecord) -> None:
        """Set one config of a resource, or remove it if the record's value is None."""
        key = (record.resource_type, record.resource_name)
        if key not in self.changed_configs:
            self.changed_configs[key] = dict(self.image.configs.get(key, {}))
        if record.value is None:
            self.changed_configs[key].pop(record.name, None)
        else:
            self.changed_configs[key][record.name] = record.value

    def _set_feature_level(self, record: m.FeatureLevelRecord) -> None:
        """Set a feature's finalized level; `apply` removes a feature with level 0."""
        self.changed_features[record.name] = record.feature_level

    def _set_next_producer_id(self, record: m.ProducerIdsRecord) -> None:
        self._next_producer_id = record.next_producer_id

    def _ignore(self, record: MetadataRecord) -> None:
        """Change nothing: NoOp and ZkMigrationState change no metadata, and the loader handles the
        marks of metadata transactions."""

    # --- SCRAM users ---------------------------------------------------------------------------

    def _set_scram_credential(self, record: m.UserScramCredentialRecord) -> None:
        """Add or replace a user's credential for the record's mechanism. Raises MetadataRecordError
        for an unknown mechanism."""
        self._scram_user(record.name)[_mechanism(record)] = ScramCredential(
            record.salt, record.stored_key, record.server_key, record.iterations
        )

    def _remove_scram(self, record: m.RemoveUserScramCredentialRecord) -> None:
        """Remove a user's credential for the record's mechanism, if there is one. Raises
        MetadataRecordError for an unknown mechanism."""
        self._scram_user(record.name).pop(_mechanism(record), None)

    def _scram_user(self, name: str) -> dict[ScramMechanism, ScramCredential]:
        """Return the changed credentials of a user to write to, copied from the image at the first
        change."""
        if name not in self.changed_scram:
            self.changed_scram[name] = dict(self.image.scram.users.get(name, {}))
        return self.changed_scram[name]

    def _scram_image(self) -> ScramImage:
        """Return the SCRAM users with the changes so far, without users that have no credential
        left."""
        if not self.changed_scram:
            return self.image.scram
        changes = {name: users or None for name, users in self.changed_scram.items()}
        return ScramImage(_merged(self.image.scram.users, changes))

    # --- ACLs ----------------------------------------------------------------------------------

    def _set_acl(self, record: m.AccessControlEntryRecord) -> None:
        self.changed_acls[record.id] = acl_of(record)

    def _remove_acl(self, record: m.RemoveAccessControlEntryRecord) -> None:
        """Remove the ACL with the record's id; an unknown id is no error."""
        self.changed_acls[record.id] = None

    # --- delegation tokens ---------------------------------------------------------------------

    def _set_token(self, record: m.DelegationTokenRecord) -> None:
        """Add a delegation token, or replace it, as a renewal does."""
        self.changed_tokens[record.token_id] = DelegationToken(
            record.token_id,
            record.owner,
            record.requester,
            tuple(record.renewers),
            record.issue_timestamp,
            record.max_timestamp,
            record.expiration_timestamp,
        )

    def _remove_token(self, record: m.RemoveDelegationTokenRecord) -> None:
        """Remove the delegation token with the record's id; an unknown id is no error."""
        self.changed_tokens[record.token_id] = None

    # --- client quotas -------------------------------------------------------------------------

    def _set_quota(self, record: m.ClientQuotaRecord) -> None:
        """Set one quota of an entity, or remove it if the record says so."""
        entity = entity_of(record)
        if entity not in self.changed_quotas:
            self.changed_quotas[entity] = dict(self.image.client_quotas.get(entity, {}))
        if record.remove:
            self.changed_quotas[entity].pop(record.key, None)
        else:
            self.changed_quotas[entity][record.key] = record.value


def _merged(before: Mapping[Any, Any], changes: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return `before` with `changes`, where None removes; `before` itself without changes."""
    if not changes:
        return before
    after = dict(before)
    for key, value in changes.items():
        if value is None:
            after.pop(key, None)
        else:
            after[key] = value
    return after


def _endpoints(
    endpoints: list[m.BrokerEndpoint] | list[m.ControllerEndpoint],
) -> dict[str, Endpoint]:
    """Return the endpoints by the name of their listener."""
    return {e.name: Endpoint(e.name, e.host, e.port, e.security_protocol) for e in endpoints}


def _features(
    features: list[m.BrokerFeature] | list[m.ControllerFeature],
) -> dict[str, tuple[int, int]]:
    """Return the lowest and highest supported version of each feature, by name."""
    return {f.name: (f.min_supported_version, f.max_supported_version) for f in features}


def _mechanism(
    record: m.UserScramCredentialRecord | m.RemoveUserScramCredentialRecord,
) -> ScramMechanism:
    """Return the record's mechanism. Raises MetadataRecordError if it is unknown."""
    try:
        return ScramMechanism(record.mechanism)
    except ValueError as error:
        raise MetadataRecordError(
            f"{record_name(record)} of user {record.name} has unknown mechanism {record.mechanism}"
        ) from error


def _optional_tuple(values: list[bytes] | None) -> tuple[bytes, ...] | None:
    return None if values is None else tuple(values)


_REPLAY: dict[type, Callable[[MetadataDelta, Any], None]] = {
    m.RegisterBrokerRecord: MetadataDelta._register_broker,
    m.UnregisterBrokerRecord: MetadataDelta._unregister_broker,
    m.BrokerRegistrationChangeRecord: MetadataDelta._change_broker,
    m.FenceBrokerRecord: MetadataDelta._fence_broker,
    m.UnfenceBrokerRecord: MetadataDelta._unfence_broker,
    m.RegisterControllerRecord: MetadataDelta._register_controller,
    m.UnregisterControllerRecord: MetadataDelta._unregister_controller,
    m.TopicRecord: MetadataDelta._add_topic,
    m.PartitionRecord: MetadataDelta._set_partition,
    m.PartitionChangeRecord: MetadataDelta._change_partition,
    m.RemoveTopicRecord: MetadataDelta._remove_topic,
    m.ClearElrRecord: MetadataDelta._clear_elr,
    m.ConfigRecord: MetadataDelta._set_config,
    m.FeatureLevelRecord: MetadataDelta._set_feature_level,
    m.ProducerIdsRecord: MetadataDelta._set_next_producer_id,
    m.NoOpRecord: MetadataDelta._ignore,
    m.BeginTransactionRecord: MetadataDelta._ignore,
    m.EndTransactionRecord: MetadataDelta._ignore,
    m.AbortTransactionRecord: MetadataDelta._ignore,
    m.ZkMigrationStateRecord: MetadataDelta._ignore,
    m.AccessControlEntryRecord: MetadataDelta._set_acl,
    m.RemoveAccessControlEntryRecord: MetadataDelta._remove_acl,
    m.UserScramCredentialRecord: MetadataDelta._set_scram_credential,
    m.RemoveUserScramCredentialRecord: MetadataDelta._remove_scram,
    m.DelegationTokenRecord: MetadataDelta._set_token,
    m.RemoveDelegationTokenRecord: MetadataDelta._remove_token,
    m.ClientQuotaRecord: MetadataDelta._set_quota,
}
