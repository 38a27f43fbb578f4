"""This broker as the controller sees it: registered, then heard of by heartbeats.

Owns the broker's epoch and its state on the way: it registers until the controller takes it,
then sends a heartbeat every `broker.heartbeat.interval.ms`, at once where it has news. Unfenced by
the controller once it has read the metadata up to its registration, it may serve. Heartbeats name
the log directories that failed (KIP-858); one that no controller heard of within
`log.dir.failure.timeout.ms` ends the process, since nobody else would lead what is in it. Speaks to
the controller through one callable, whether that is in this process or on another node. Follows
KIP-631 and Kafka's `BrokerLifecycleManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from broker.config.endpoints import SECURITY_PROTOCOLS, EndPoint
from broker.config.values import BrokerConfig
from broker.replication.to_controller import ToController
from ground.ports import Scheduler, Timer
from protocol.errors import ErrorCode
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)
from protocol.primitives import uuid_to_string

_log = logging.getLogger(f"ottla.{__name__}")

REGISTRATION_RETRY_MS = 100
SHUT_DOWN_POLL_MS = 50
SHUT_DOWN_TIMEOUT_MS = 5_000
"""A stop waits so long for leaders to move away, then ends without that. (Kafka waits five minutes,
longer than whoever supervises a process.)"""
SHUT_DOWN_SILENCE_MS = 1_500
"""Or so long for a controller's answer: when a whole cluster stops, the last have none."""

DUPLICATE_TOLD_AFTER_MS = 3_000
"""After the end of the session that this broker's last process may have left."""
DUPLICATE_TOLD_AGAIN_MS = 60_000

NO_ANSWER = ErrorCode.REQUEST_TIMED_OUT
RETRIED = (
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.DUPLICATE_BROKER_REGISTRATION,
)


@dataclass(frozen=True, slots=True)
class BrokerIdentity:
    """What a registration tells beside the config."""

    cluster_id: str
    incarnation_id: bytes
    endpoints: Sequence[EndPoint]
    log_dir_ids: Sequence[bytes]
    features: Mapping[str, tuple[int, int]]
    previous_broker_epoch: int


class BrokerLifecycle:
    """Registration and heartbeats of one broker."""

    def __init__(
        self,
        config: BrokerConfig,
        to_controller: ToController,
        scheduler: Scheduler,
        metadata_offset: Callable[[], int],
        offline_log_dirs: Callable[[], Sequence[bytes]],
        give_up: Callable[[str], None],
        registered_incarnation: Callable[[], bytes | None],
    ) -> None:
        """`metadata_offset()` is the offset up to which this broker has applied the metadata,
        `offline_log_dirs()` the ids of the registered log directories that failed since;
        `give_up(reason)` ends the process where no controller hears of one;
        `registered_incarnation()` is which process the metadata has under our id, if any."""
        self._config = config
        self._to_controller = to_controller
        self._scheduler = scheduler
        self._metadata_offset = metadata_offset
        self._offline_log_dirs = offline_log_dirs
        self._give_up = give_up
        self._registered_incarnation = registered_incarnation
        self._untold: dict[bytes, Timer | None] = {}
        """Failed log directories, and how long the controller may not know; None: it does."""
        self._timer: Timer | None = None
        self._silence: Timer | None = None
        self._stopped = False
        self._may_unfence = False
        self._registration: BrokerRegistrationRequest | None = None
        self._duplicate_told_at_ms: float | None = None
        """When to say that another process has our place; None: none has."""
        self._on_registered: Callable[[Exception | None], None] | None = None
        self._on_unfenced: Callable[[], None] | None = None
        self._on_shut_down: Callable[[], None] | None = None
        self.epoch = -1
        self.fenced = True

    def register(self, identity: BrokerIdentity, done: Callable[[Exception | None], None]) -> None:
        """Register; `done(None)` once the controller has taken us, or with what forbids it."""
        self._on_registered = done
        self._registration = BrokerRegistrationRequest(
            broker_id=self._config.node_id,
            cluster_id=identity.cluster_id,
            incarnation_id=identity.incarnation_id,
            listeners=[_listener(endpoint) for endpoint in identity.endpoints],
            features=[Feature(name, low, high) for name, (low, high) in identity.features.items()],
            rack=self._config.broker_rack,
            log_dirs=list(identity.log_dir_ids),
            previous_broker_epoch=identity.previous_broker_epoch,
        )
        self._send_registration()

    def unfence(self, done: Callable[[], None]) -> None:
        """Ask to serve; `done` once the controller lets us."""
        self._on_unfenced = done
        self._may_unfence = True
        self._send_heartbeat()

    def shut_down(self, done: Callable[[], None]) -> None:
        """Ask that leaders move away; `done` when none is left here, or the time is up.

        Heartbeats go on meanwhile, and the broker serves (KIP-631's controlled shutdown).
        """
        self._on_shut_down = done
        self._scheduler.call_later(SHUT_DOWN_TIMEOUT_MS, self._end_shut_down)
        self._bound_silence()
        self._send_heartbeat()

    def log_dir_failed(self) -> None:
        """Tell the controller at once, so that others lead what was in that directory."""
        if self.epoch >= 0:
            self._send_heartbeat()

    def stop(self) -> None:
        """Send nothing any more."""
        self._stopped = True
        for timer in (self._timer, *self._untold.values()):
            if timer is not None:
                timer.cancel()

    # --- registration --------------------------------------------------------------------------

    def _send_registration(self) -> None:
        if not self._stopped:
            self._to_controller(self._registration, self._registered)

    def _registered(self, response: BrokerRegistrationResponse | None) -> None:
        error = NO_ANSWER if response is None else ErrorCode(response.error_code)
        if error is ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            self._tell_of_duplicate()
        else:
            self._duplicate_told_at_ms = None
        if error in RETRIED:
            _log.info("registration is not taken yet: %s", error.name)
            self._again(REGISTRATION_RETRY_MS, self._send_registration)
            return
        done, self._on_registered = self._on_registered, None
        if done is None or self._stopped:
            return
        if error:
            done(RegistrationRefused(self._config.node_id, error))
            return
        assert response is not None
        self.epoch = response.broker_epoch
        done(None)

    def _tell_of_duplicate(self) -> None:
        """Two brokers with one id: this one waits until the other one is gone, maybe for ever."""
        now_ms = self._scheduler.monotonic_ms()
        if self._duplicate_told_at_ms is None:
            session_ms = self._config.broker_session_timeout_ms
            self._duplicate_told_at_ms = now_ms + session_ms + DUPLICATE_TOLD_AFTER_MS
        elif now_ms >= self._duplicate_told_at_ms:
            self._duplicate_told_at_ms = now_ms + DUPLICATE_TOLD_AGAIN_MS
            _log.warning(
                "another process with node.id=%d is registered and alive "
                "(DUPLICATE_BROKER_REGISTRATION): this broker waits until it is gone; stop it, or "
                "give one of them another node.id",
                self._config.node_id,
            )

    # --- heartbeats ----------------------------------------------------------------------------

    def _send_heartbeat(self) -> None:
        if self._stopped:
            return
        offline = list(self._offline_log_dirs())
        self._bound_untold(offline)
        request = BrokerHeartbeatRequest(
            broker_id=self._config.node_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self._metadata_offset(),
            want_fence=not self._may_unfence,
            want_shut_down=self._on_shut_down is not None,
            offline_log_dirs=offline,
        )
        self._to_controller(request, partial(self._heard, offline=offline))

    def _bound_untold(self, offline: Sequence[bytes]) -> None:
        for directory in offline:
            if directory not in self._untold:
                name = uuid_to_string(directory)
                reason = f"no controller could be told that the log directory {name} is offline"
                self._untold[directory] = self._scheduler.call_later(
                    self._config.log_dir_failure_timeout_ms, partial(self._give_up, reason)
                )

    def _told(self, offline: Sequence[bytes]) -> None:
        for directory in offline:
            timer, self._untold[directory] = self._untold[directory], None
            if timer is not None:
                timer.cancel()

    def _heard(self, response: BrokerHeartbeatResponse | None, offline: Sequence[bytes]) -> None:
        if self._stopped:
            return
        error = NO_ANSWER if response is None else ErrorCode(response.error_code)
        if response is None or error:
            _log.warning(
                "heartbeat to the controller failed: %s; without one within the session this "
                "broker is fenced",
                error.name,
            )
            if error is ErrorCode.STALE_BROKER_EPOCH and self._is_replaced():
                self._register_again()
                return
            quick = response is None or self._on_shut_down is not None
            self._again(
                REGISTRATION_RETRY_MS if quick else self._config.broker_heartbeat_interval_ms,
                self._send_heartbeat,
            )
            return
        self._told(offline)
        if self._on_shut_down is not None:
            if response.should_shut_down:
                self._end_shut_down()
                return
            self._bound_silence()
        if response.is_fenced != self.fenced:
            self._fencing_changed(response.is_fenced)
        self._again(self._interval_ms(), self._send_heartbeat)

    def _is_replaced(self) -> bool:
        """Whether another registration took the place of ours, before we serve or since.

        A broker that somebody unregistered stays so, as in Kafka; so does one that stops.
        """
        if self._on_shut_down is not None or self._registration is None:
            return False
        other = self._registered_incarnation()
        return self._on_unfenced is not None or (
            other is not None and other != self._registration.incarnation_id
        )

    def _register_again(self) -> None:
        """Take our place back from a registration that replaced ours.

        It can be that of this broker's last process: sent before that was killed, and delivered by
        a slow link or read by a slow controller after ours. Nobody else would ever take it back.
        Two live brokers with one id do not contend in this way for long: as long as one of them has
        a session, the other is a duplicate.
        """
        self._on_registered = self._registered_again
        self._again(REGISTRATION_RETRY_MS, self._send_registration)

    def _registered_again(self, _error: Exception | None) -> None:
        self._again(REGISTRATION_RETRY_MS, self._send_heartbeat)

    def _fencing_changed(self, fenced: bool) -> None:
        self.fenced = fenced
        if fenced:
            _log.warning("the controller has fenced this broker")
        elif self._on_unfenced is not None:
            done, self._on_unfenced = self._on_unfenced, None
            done()

    def _interval_ms(self) -> int:
        if self._on_shut_down is not None:
            return SHUT_DOWN_POLL_MS
        # Until it serves, a broker waits for nothing but its own reading of the metadata.
        waiting = self._may_unfence and self.fenced
        return REGISTRATION_RETRY_MS if waiting else self._config.broker_heartbeat_interval_ms

    def _bound_silence(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
        self._silence = self._scheduler.call_later(SHUT_DOWN_SILENCE_MS, self._end_shut_down)

    def _end_shut_down(self) -> None:
        done, self._on_shut_down = self._on_shut_down, None
        if done is not None and not self._stopped:
            # Another heartbeat would ask to be let in again.
            self.stop()
            done()

    def _again(self, delay_ms: int, what: Callable[[], None]) -> None:
        if not self._stopped:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._scheduler.call_later(delay_ms, what)


class RegistrationRefused(Exception):
    """The controller does not take this broker, and will not."""

    def __init__(self, node_id: int, error: ErrorCode) -> None:
        super().__init__(f"the controller refuses to register broker {node_id}: {error.name}")
        self.error = error


def _listener(endpoint: EndPoint) -> Listener:
    return Listener(
        endpoint.listener_name,
        endpoint.host or "",
        endpoint.port,
        SECURITY_PROTOCOLS.index(endpoint.security_protocol),
    )
