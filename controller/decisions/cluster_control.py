"""Brokers of the cluster: registering, unfencing, fencing, shutting down.

Owns: the checks on a registration, and the effects of a heartbeat. A broker is fenced from its
registration until a heartbeat shows that it has replayed the metadata up to that registration, and
again after `broker.session.timeout.ms` without a heartbeat.

Each broker is in one of four states, after Kafka's `BrokerControlState`:

    FENCED               has no leaders; asks to be unfenced → UNFENCED once it has caught up
    UNFENCED             serves; asks to stop → CONTROLLED_SHUTDOWN, or SHUTDOWN_NOW where it leads
                         nothing; session lost → FENCED
    CONTROLLED_SHUTDOWN  leaders have moved away as far as possible; still answers. When it leads
                         nothing and all brokers replayed the moves → SHUTDOWN_NOW; session lost →
                         FENCED
    SHUTDOWN_NOW         fenced, and its last heartbeat's response said that it may stop

Never: keeps the durable part, which is the image. After a failover every broker gets a new
session. Follows KIP-631, KIP-858 and Kafka's `ClusterControlManager`, `BrokerHeartbeatManager`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from controller.decisions.broker_heartbeats import BrokerHeartbeats
from controller.decisions.decision import (
    MAX_RECORDS_PER_OPERATION,
    TOO_MANY_RECORDS,
    Decision,
    DecisionView,
)
from controller.decisions.feature_control import is_kept
from controller.decisions.leadership_changes import LeadershipChanges
from controller.metadata.image import BrokerRegistration, MetadataImage
from controller.metadata.records import MetadataRecord
from controller.metadata.version import has_directories, level_name
from controller.settings import ControllerSettings
from protocol.errors import ApiError, ErrorCode
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from protocol.messages.broker_registration import BrokerRegistrationRequest
from protocol.messages.metadata_records import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from protocol.primitives import uuid_to_string

_FENCED = 1
_UNFENCED = -1
_SHUTTING_DOWN = 1
_OVERDUE = 1.5
"""The number of heartbeat intervals without a heartbeat after which a broker may be dead."""


class HeartbeatReply(NamedTuple):
    """The broker's state, as the response to its heartbeat reports it."""

    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


def epoch_fault(image: MetadataImage, broker_id: int, epoch: int) -> ApiError | None:
    """Return the STALE_BROKER_EPOCH error if `broker_id` is not registered with `epoch`; None if it
    is."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        text = f"No broker registration found for broker id {broker_id}"
        return ApiError(ErrorCode.STALE_BROKER_EPOCH, text)
    if broker.epoch != epoch:
        text = f"Expected broker epoch {broker.epoch}, but got broker epoch {epoch}"
        return ApiError(ErrorCode.STALE_BROKER_EPOCH, text)
    return None


class ClusterControl:
    """The decisions on brokers, and their sessions (`controller.decisions.broker_heartbeats`)."""

    def __init__(self, settings: ControllerSettings, leadership: LeadershipChanges) -> None:
        self._settings = settings
        self._leadership = leadership
        self.heartbeats = BrokerHeartbeats(settings.broker_session_timeout_ms)

    # --- fencing -------------------------------------------------------------------------------

    def fence(self, view: DecisionView, broker_id: int, epoch: int | None = None) -> Decision[bool]:
        """Return the decision that fences `broker_id`, whose session has expired or whose process
        is known to be dead.

        With `epoch`, fence only that incarnation. The reply is True if the decision fences the
        broker. It is False, without records, if the broker is fenced, unknown or another
        incarnation.
        """
        broker = view.image.brokers.get(broker_id)
        if broker is None or broker.fenced or epoch not in (None, broker.epoch):
            return Decision(False)
        return Decision(True, self._fencing(view.image, broker), atomic=False)

    def _fencing(self, image: MetadataImage, broker: BrokerRegistration) -> list[MetadataRecord]:
        """Forget the broker's heartbeats. Return the records that fence it and move its
        leaderships."""
        self.heartbeats.forget(broker.id)
        change = BrokerRegistrationChangeRecord(broker.id, broker.epoch, fenced=_FENCED)
        return [change, *self._leadership.broker_left(image, broker.id)]

    # --- registration --------------------------------------------------------------------------

    def register(self, view: DecisionView, request: BrokerRegistrationRequest) -> Decision[int]:
        """Return the decision that registers a broker, and restart the broker's session. The reply
        is the broker's epoch, or the error of an invalid registration.

        The same incarnation keeps its epoch, and stays unfenced if it was. A new one gets a new
        epoch and is fenced; the earlier one leaves ISRs and leaderships.
        """
        broker_id = request.broker_id
        before = view.image.brokers.get(broker_id)
        error = self._registration_fault(view, request, before)
        if error is not None:
            return Decision(error)
        records: list[MetadataRecord] = []
        same_process = before is not None and before.incarnation_id == request.incarnation_id
        if before is not None and not same_process:
            unclean = view.image.elr_enabled and before.epoch != request.previous_broker_epoch
            records = self._leadership.broker_left(view.image, broker_id, unclean)
        epoch = before.epoch if before is not None and same_process else view.next_offset
        still_fenced = before.fenced if before is not None and same_process else True
        record = _registration_record(request, epoch, still_fenced)
        if not same_process:
            self.heartbeats.forget(broker_id)
        self.heartbeats.touch(broker_id, view.now_ms)
        return Decision(epoch, [record, *records], atomic=False)

    def unregister(self, view: DecisionView, broker_id: int) -> Decision[None]:
        """Return the decision that unregisters a broker and removes it from ISRs and leaderships;
        its session ends. The reply is None, BROKER_ID_NOT_REGISTERED, or TOO_MANY_RECORDS. The
        caller checks that the broker has stopped."""
        broker = view.image.brokers.get(broker_id)
        if broker is None:
            text = f"Broker ID {broker_id} is not currently registered"
            return Decision(ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, text))
        # A broker that returns under this id may have empty disks: its replicas prove nothing now.
        records: list[MetadataRecord] = [
            *self._leadership.broker_left(view.image, broker_id, view.image.elr_enabled),
            UnregisterBrokerRecord(broker_id, broker.epoch),
        ]
        if len(records) > MAX_RECORDS_PER_OPERATION:
            return Decision(TOO_MANY_RECORDS)
        self.heartbeats.forget(broker_id)
        return Decision(None, records, atomic=False)

    def _registration_fault(
        self,
        view: DecisionView,
        request: BrokerRegistrationRequest,
        before: BrokerRegistration | None,
    ) -> ApiError | None:
        """Return the error of a registration, None if it is valid: another cluster id, a live
        broker with the same id, no listeners, invalid directories, unsupported features. `before`
        is the broker's earlier registration."""
        if request.cluster_id != self._settings.cluster_id:
            text = (
                f"Expected cluster ID {self._settings.cluster_id}, "
                f"but got cluster ID {request.cluster_id}"
            )
            return ApiError(ErrorCode.INCONSISTENT_CLUSTER_ID, text)
        if (
            before is not None
            and before.incarnation_id != request.incarnation_id
            and self._has_session(before, view.now_ms)
            and not self._is_succeeded(before, request, view.now_ms)
        ):
            text = "Another broker is registered with that broker id."
            return ApiError(ErrorCode.DUPLICATE_BROKER_REGISTRATION, text)
        if not request.listeners:
            text = "No listeners specified in request"
            return ApiError(ErrorCode.INVALID_REGISTRATION, text)
        return _directory_fault(view.image, request) or _feature_fault(view.image, request)

    def _has_session(self, broker: BrokerRegistration, now_ms: float) -> bool:
        """Return whether the session of a registered broker is valid. A fenced broker has none, nor
        has an earlier process of this node."""
        if broker.fenced or broker.id == self._settings.node_id:
            # This process holds the directory locks that an earlier process of this node held.
            return False
        return self.heartbeats.has_session(broker.id, now_ms)

    def _is_succeeded(
        self, before: BrokerRegistration, request: BrokerRegistrationRequest, now_ms: float
    ) -> bool:
        """Return whether `request` comes from the process that replaced `before`: it has locked the
        same directories. A heartbeat must be overdue too; otherwise a copy of the disks could
        replace a live broker."""
        if sorted(request.log_dirs) != sorted(before.log_dirs):
            return False
        silence_ms = _OVERDUE * self._settings.broker_heartbeat_interval_ms
        return self.heartbeats.silent_for_ms(before.id, now_ms) >= silence_ms

    # --- heartbeats ----------------------------------------------------------------------------

    def heartbeat(
        self, view: DecisionView, request: BrokerHeartbeatRequest
    ) -> Decision[HeartbeatReply]:
        """Return the decision on a heartbeat, and restart the broker's session.

        The records fence, unfence or shut down the broker, or take its offline directories from its
        registration. The reply is the broker's new state, or STALE_BROKER_EPOCH.
        """
        image, broker_id = view.image, request.broker_id
        error = epoch_fault(image, broker_id, request.broker_epoch)
        if error is not None:
            return Decision(error)
        broker = image.brokers[broker_id]
        self.heartbeats.touch(broker_id, view.now_ms, request.current_metadata_offset)
        caught_up = request.current_metadata_offset >= broker.epoch
        records: list[MetadataRecord] = []
        if request.want_shut_down:
            reply, records = self._shut_down(view, broker, caught_up, request.want_fence)
        elif request.want_fence:
            reply = HeartbeatReply(caught_up)
            records = [] if broker.fenced else self._fencing(image, broker)
        elif broker.fenced and caught_up and not broker.in_controlled_shutdown:
            change = BrokerRegistrationChangeRecord(broker_id, broker.epoch, fenced=_UNFENCED)
            records = [change, *self._leadership.broker_unfenced(image, broker_id)]
            reply = HeartbeatReply(True, is_fenced=False)
        else:
            reply = HeartbeatReply(caught_up, is_fenced=broker.fenced)
        if not records and request.offline_log_dirs:
            # After records, the next heartbeat, which names the directories again, handles them.
            records = self._directories_offline(image, broker, request.offline_log_dirs)
        return Decision(reply, records, atomic=False)

    def _shut_down(
        self, view: DecisionView, broker: BrokerRegistration, caught_up: bool, want_fence: bool
    ) -> tuple[HeartbeatReply, list[MetadataRecord]]:
        """Return the reply to a broker that wants to shut down, and the records. The broker may
        stop after it leads nothing and all active brokers have replayed that; it is fenced then."""
        image = view.image
        ready = HeartbeatReply(caught_up, is_fenced=True, should_shut_down=True)
        not_yet = HeartbeatReply(caught_up, is_fenced=False)
        if broker.fenced:
            return ready, []
        leads = _leads_anything(image, broker.id)
        if not broker.in_controlled_shutdown:
            if want_fence or not leads:
                return ready, self._fencing(image, broker)
            change = BrokerRegistrationChangeRecord(
                broker.id, broker.epoch, in_controlled_shutdown=_SHUTTING_DOWN
            )
            records = [change, *self._leadership.broker_left(image, broker.id)]
            self.heartbeats.note_shutdown_offset(broker.id, view.next_offset + len(records) - 1)
            return not_yet, records
        # After a failover the offset of the moves is not known, but they come before this one.
        self.heartbeats.note_shutdown_offset(broker.id, view.next_offset - 1)
        if leads or not self.heartbeats.shutdown_seen_by_all(image, broker.id):
            return not_yet, []
        return ready, self._fencing(image, broker)

    def _directories_offline(
        self, image: MetadataImage, broker: BrokerRegistration, reported: Sequence[bytes]
    ) -> list[MetadataRecord]:
        """Return the records that remove the directories in `reported` from the broker's
        registration, and their replicas from ISRs and leadership. Directories that are not
        registered are ignored."""
        lost = [directory for directory in broker.log_dirs if directory in reported]
        if not lost or not has_directories(image.metadata_level):
            return []
        online = [directory for directory in broker.log_dirs if directory not in lost]
        change = BrokerRegistrationChangeRecord(broker.id, broker.epoch, log_dirs=online)
        return [*self._leadership.directories_lost(image, broker.id, lost), change]


def _leads_anything(image: MetadataImage, broker_id: int) -> bool:
    return any(
        partition.leader == broker_id
        for topic in image.topics.by_name.values()
        for partition in topic.partitions.values()
    )


def _directory_fault(image: MetadataImage, request: BrokerRegistrationRequest) -> ApiError | None:
    """Return the INVALID_REGISTRATION error of the broker's directory ids: none, duplicates, or
    those of another broker. None if they are valid."""
    if not request.log_dirs:
        return ApiError(ErrorCode.INVALID_REGISTRATION, "No directories specified in request")
    if len(dict.fromkeys(request.log_dirs)) != len(request.log_dirs):
        return ApiError(ErrorCode.INVALID_REGISTRATION, "Duplicate directory ids in request")
    for broker in image.brokers.values():
        if broker.id == request.broker_id:
            continue
        for directory in request.log_dirs:
            if directory in broker.log_dirs:
                text = (
                    f"Broker {broker.id} is already registered with directory "
                    f"{uuid_to_string(directory)}"
                )
                return ApiError(ErrorCode.INVALID_REGISTRATION, text)
    return None


def _feature_fault(image: MetadataImage, request: BrokerRegistrationRequest) -> ApiError | None:
    """Return the UNSUPPORTED_VERSION error of a broker that does not support a finalized level,
    because it would misread records. None if it supports all."""
    supported = {
        f.name: (f.min_supported_version, f.max_supported_version) for f in request.features
    }
    for name, level in image.features.items():
        low, high = supported.get(name, (0, 0))
        if not low <= level <= high and not is_kept(name, level):
            shown = f"{level} ({level_name(level)})" if name == "metadata.version" else str(level)
            text = (
                f"Unable to register because the broker does not support finalized version "
                f"{shown} of {name}. The broker wants a version between {low} and {high}, "
                "inclusive."
            )
            return ApiError(ErrorCode.UNSUPPORTED_VERSION, text)
    return None


def _registration_record(
    request: BrokerRegistrationRequest, epoch: int, fenced: bool
) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(e.name, e.host, e.port, e.security_protocol) for e in request.listeners
        ],
        features=[
            BrokerFeature(f.name, f.min_supported_version, f.max_supported_version)
            for f in request.features
        ],
        rack=request.rack,
        fenced=fenced,
        log_dirs=list(request.log_dirs),
    )
