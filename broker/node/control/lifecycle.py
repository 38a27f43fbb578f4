"""The lifecycle of this broker on the controller: registration, then heartbeats.

Owns the broker's epoch and its state. The broker registers until the controller accepts it. Then it
sends a heartbeat every `broker.heartbeat.interval.ms`, and at once after a change. It may serve
when the controller has unfenced it, which happens after it has read the metadata up to its
registration. Heartbeats name the log directories that failed (KIP-858). If no controller learns of
a failed directory within `log.dir.failure.timeout.ms`, the process ends, since otherwise nothing
would lead its partitions. The controller is reached through a callable, whether it is in this
process or on another node. Follows KIP-631 and Kafka's `BrokerLifecycleManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from broker.config.endpoints import SECURITY_PROTOCOLS, EndPoint
from broker.config.start_error import StartError
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
"""The longest wait for leaders to move away before the broker stops.

Kafka waits five minutes, longer than most supervisors of a process.
"""
SHUT_DOWN_SILENCE_MS = 1_500
"""The longest wait for an answer. When a whole cluster stops, the last nodes get none."""

DUPLICATE_WARNING_DELAY_MS = 3_000
"""The wait before the first warning, besides the session that the last process may still have."""
DUPLICATE_WARNING_INTERVAL_MS = 60_000

NO_ANSWER = ErrorCode.REQUEST_TIMED_OUT
RETRIED = (
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.DUPLICATE_BROKER_REGISTRATION,
)


@dataclass(frozen=True, slots=True)
class BrokerIdentity:
    """The fields of a registration that are not in the config."""

    cluster_id: str
    incarnation_id: bytes
    endpoints: Sequence[EndPoint]
    log_dir_ids: Sequence[bytes]
    features: Mapping[str, tuple[int, int]]
    previous_broker_epoch: int


class BrokerLifecycle:
    """The registration and the heartbeats of a broker."""

    def __init__(
        self,
        config: BrokerConfig,
        to_controller: ToController,
        scheduler: Scheduler,
        metadata_offset: Callable[[], int],
        offline_log_dirs: Callable[[], Sequence[bytes]],
        halt: Callable[[str], None],
        registered_incarnation: Callable[[], bytes | None],
    ) -> None:
        """Create an unregistered broker.

        `metadata_offset()` is the offset up to which this broker has applied the metadata.
        `offline_log_dirs()` are the ids of the registered log directories that have failed.
        `halt(reason)` ends the process if no controller learns of a failed directory.
        `registered_incarnation()` is the incarnation id that the metadata has under this broker's
        id, if any.
        """
        self._config = config
        self._to_controller = to_controller
        self._scheduler = scheduler
        self._metadata_offset = metadata_offset
        self._offline_log_dirs = offline_log_dirs
        self._halt = halt
        self._registered_incarnation = registered_incarnation
        self._unreported: dict[bytes, Timer | None] = {}
        """Failed log directories, with the timer that ends the process; None: reported."""
        self._timer: Timer | None = None
        self._silence: Timer | None = None
        self._stopped = False
        self._may_unfence = False
        self._registration: BrokerRegistrationRequest | None = None
        self._duplicate_warning_ms: float | None = None
        """The time of the next warning about another process with this id; None: no warning."""
        self._on_registered: Callable[[Exception | None], None] | None = None
        self._on_unfenced: Callable[[], None] | None = None
        self._on_shut_down: Callable[[], None] | None = None
        self.epoch = -1
        self.fenced = True

    def register(self, identity: BrokerIdentity, done: Callable[[Exception | None], None]) -> None:
        """Send the registration until the controller accepts it, then call `done(None)`. Call
        `done(error)` if it is rejected for good."""
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
        """Ask the controller to unfence this broker, and call `done` after that."""
        self._on_unfenced = done
        self._may_unfence = True
        self._send_heartbeat()

    def shut_down(self, done: Callable[[], None]) -> None:
        """Ask the controller to move leaders away, and call `done` when none is left or time is up.

        Heartbeats continue meanwhile, and the broker serves (KIP-631's controlled shutdown).
        """
        self._on_shut_down = done
        self._scheduler.call_later(SHUT_DOWN_TIMEOUT_MS, self._end_shut_down)
        self._restart_silence()
        self._send_heartbeat()

    def log_dir_failed(self) -> None:
        """Send a heartbeat with the failed directories at once, so that the controller elects other
        leaders. Does nothing before the registration."""
        if self.epoch >= 0:
            self._send_heartbeat()

    def stop(self) -> None:
        """Cancel all timers and send nothing more."""
        self._stopped = True
        for timer in (self._timer, *self._unreported.values()):
            if timer is not None:
                timer.cancel()

    # --- registration --------------------------------------------------------------------------

    def _send_registration(self) -> None:
        """Send the registration to the controller, unless stopped."""
        if not self._stopped:
            self._to_controller(self._registration, self._registered)

    def _registered(self, response: BrokerRegistrationResponse | None) -> None:
        """Take the answer to a registration.

        Retry if the controller may accept it later; otherwise call `done` with None or the refusal.
        """
        error = NO_ANSWER if response is None else ErrorCode(response.error_code)
        if error is ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            self._warn_of_duplicate()
        else:
            self._duplicate_warning_ms = None
        if error in RETRIED:
            _log.info("registration is not taken yet: %s", error.name)
            self._call_once(REGISTRATION_RETRY_MS, self._send_registration)
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

    def _warn_of_duplicate(self) -> None:
        """Log, at most once a minute, that another broker with this id is alive, and this one waits
        until it is gone.

        There is no warning while the session of this broker's last process may still last.
        """
        now_ms = self._scheduler.monotonic_ms()
        if self._duplicate_warning_ms is None:
            session_ms = self._config.broker_session_timeout_ms
            self._duplicate_warning_ms = now_ms + session_ms + DUPLICATE_WARNING_DELAY_MS
        elif now_ms >= self._duplicate_warning_ms:
            self._duplicate_warning_ms = now_ms + DUPLICATE_WARNING_INTERVAL_MS
            _log.warning(
                "another process with node.id=%d is registered and alive "
                "(DUPLICATE_BROKER_REGISTRATION): this broker waits until it is gone; stop it, or "
                "give one of them another node.id",
                self._config.node_id,
            )

    # --- heartbeats ----------------------------------------------------------------------------

    def _send_heartbeat(self) -> None:
        """Send a heartbeat with the metadata's offset and the failed folders."""
        if self._stopped:
            return
        offline = list(self._offline_log_dirs())
        self._limit_unreported(offline)
        request = BrokerHeartbeatRequest(
            broker_id=self._config.node_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self._metadata_offset(),
            want_fence=not self._may_unfence,
            want_shut_down=self._on_shut_down is not None,
            offline_log_dirs=offline,
        )
        self._to_controller(request, partial(self._heartbeat_answered, offline=offline))

    def _limit_unreported(self, offline: Sequence[bytes]) -> None:
        """Start a timer for each newly failed folder, which ends the process if no controller
        learns of it in time.

        The limit is `log.dir.failure.timeout.ms`.
        """
        for directory in offline:
            if directory not in self._unreported:
                name = uuid_to_string(directory)
                reason = f"no controller could be told that the log directory {name} is offline"
                self._unreported[directory] = self._scheduler.call_later(
                    self._config.log_dir_failure_timeout_ms, partial(self._halt, reason)
                )

    def _note_reported(self, offline: Sequence[bytes]) -> None:
        """Stop the timers of failed folders that a controller knows now."""
        for directory in offline:
            timer, self._unreported[directory] = self._unreported[directory], None
            if timer is not None:
                timer.cancel()

    def _heartbeat_answered(
        self, response: BrokerHeartbeatResponse | None, offline: Sequence[bytes]
    ) -> None:
        """Take the answer to a heartbeat and schedule the next heartbeat.

        A replaced broker registers again. A granted shut-down ends the heartbeats.
        """
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
            self._call_once(
                REGISTRATION_RETRY_MS if quick else self._config.broker_heartbeat_interval_ms,
                self._send_heartbeat,
            )
            return
        self._note_reported(offline)
        if self._on_shut_down is not None:
            if response.should_shut_down:
                self._end_shut_down()
                return
            self._restart_silence()
        if response.is_fenced != self.fenced:
            self._fencing_changed(response.is_fenced)
        self._call_once(self._interval_ms(), self._send_heartbeat)

    def _is_replaced(self) -> bool:
        """Return whether another registration has replaced this broker's, at the start or later.

        A broker that an administrator has unregistered stays unregistered, as in Kafka, and so does
        a stopping broker.
        """
        if self._on_shut_down is not None or self._registration is None:
            return False
        registered_id = self._registered_incarnation()
        return self._on_unfenced is not None or (
            registered_id is not None and registered_id != self._registration.incarnation_id
        )

    def _register_again(self) -> None:
        """Register again because another registration has replaced this broker's.

        The other may be from this broker's last process, which sent it before it was killed. A slow
        link or a slow controller may have let it arrive after the new registration, and nothing
        else would correct that. Two live brokers with one id do not contend for long: while one of
        them has a session, the other is a duplicate.
        """
        self._on_registered = self._registered_again
        self._call_once(REGISTRATION_RETRY_MS, self._send_registration)

    def _registered_again(self, _error: Exception | None) -> None:
        """Send a heartbeat soon, with or without a new registration."""
        self._call_once(REGISTRATION_RETRY_MS, self._send_heartbeat)

    def _fencing_changed(self, fenced: bool) -> None:
        """Set `fenced`. Log a warning if the broker is fenced; call the waiting `done` once it is
        unfenced."""
        self.fenced = fenced
        if fenced:
            _log.warning("the controller has fenced this broker")
        elif self._on_unfenced is not None:
            done, self._on_unfenced = self._on_unfenced, None
            done()

    def _interval_ms(self) -> int:
        """Return the milliseconds to the next heartbeat: fewer in a shut-down and before
        unfencing."""
        if self._on_shut_down is not None:
            return SHUT_DOWN_POLL_MS
        # Before it serves, a broker waits only for its own replay of the metadata.
        waiting = self._may_unfence and self.fenced
        return REGISTRATION_RETRY_MS if waiting else self._config.broker_heartbeat_interval_ms

    def _restart_silence(self) -> None:
        """Restart the timer that ends the shut-down if the controller does not answer for
        SHUT_DOWN_SILENCE_MS."""
        if self._silence is not None:
            self._silence.cancel()
        self._silence = self._scheduler.call_later(SHUT_DOWN_SILENCE_MS, self._end_shut_down)

    def _end_shut_down(self) -> None:
        """Stop the heartbeats, and call the `done` of the shut-down: no leader is left, or time is
        up. Does nothing without a shut-down in progress."""
        done, self._on_shut_down = self._on_shut_down, None
        if done is not None and not self._stopped:
            # Another heartbeat would ask to be unfenced again.
            self.stop()
            done()

    def _call_once(self, delay_ms: int, callback: Callable[[], None]) -> None:
        """Call `callback` after `delay_ms` in place of the call that waits.

        Does nothing when stopped.
        """
        if not self._stopped:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._scheduler.call_later(delay_ms, callback)


class RegistrationRefused(StartError):
    """A registration that the controller has rejected for good, so this node cannot start."""

    def __init__(self, node_id: int, error: ErrorCode) -> None:
        super().__init__(f"the controller refuses to register broker {node_id}: {error.name}")
        self.error = error


def _listener(endpoint: EndPoint) -> Listener:
    """Return an endpoint as a registration has it."""
    return Listener(
        endpoint.listener_name,
        endpoint.host or "",
        endpoint.port,
        SECURITY_PROTOCOLS.index(endpoint.security_protocol),
    )
