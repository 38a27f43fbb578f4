from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.config.endpoints import EndPoint
from broker.config.parse import single_node_config
from broker.config.start_error import StartError
from broker.node.control.lifecycle import (
    REGISTRATION_RETRY_MS,
    SHUT_DOWN_POLL_MS,
    SHUT_DOWN_SILENCE_MS,
    SHUT_DOWN_TIMEOUT_MS,
    BrokerIdentity,
    BrokerLifecycle,
    RegistrationRefused,
)
from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)

CONFIG = single_node_config({"node.id": "4", "broker.rack": "r1"})


class Controller:
    """Answers by a script; what was sent is kept with its time."""

    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.silent = False
        self.unanswered: list[Callable[[Any], None]] = []
        self.sent: list[tuple[float, Any]] = []
        self.registration = BrokerRegistrationResponse(broker_epoch=77)
        self.heartbeat = BrokerHeartbeatResponse(is_fenced=True)
        self.identity = BrokerIdentity(
            "cluster",
            b"i" * 16,
            [EndPoint("PLAINTEXT", "PLAINTEXT", "here", 9092)],
            [b"d" * 16],
            {"metadata.version": (7, 29)},
            5,
        )
        self.offline: list[bytes] = []
        self.halted: list[str] = []
        self.incarnation: bytes | None = None
        self.lifecycle = BrokerLifecycle(
            CONFIG,
            self.receive,
            self.scheduler,
            lambda: 123,
            lambda: self.offline,
            self.halted.append,
            lambda: self.incarnation,
        )

    def receive(self, request: Any, respond: Callable[[Any], None]) -> None:
        self.sent.append((self.scheduler.now_ms, request))
        if self.silent:
            self.unanswered.append(respond)
            return
        is_heartbeat = isinstance(request, BrokerHeartbeatRequest)
        respond(self.heartbeat if is_heartbeat else self.registration)


def test_a_broker_registers_with_all_that_it_is() -> None:
    controller = Controller()
    done: list[Exception | None] = []
    controller.lifecycle.register(controller.identity, done.append)
    assert done == [None]
    assert controller.lifecycle.epoch == 77
    ((_, request),) = controller.sent
    assert isinstance(request, BrokerRegistrationRequest)
    assert (request.broker_id, request.rack, request.previous_broker_epoch) == (4, "r1", 5)
    (listener,) = request.listeners
    assert (listener.name, listener.host, listener.port, listener.security_protocol) == (
        "PLAINTEXT",
        "here",
        9092,
        0,
    )
    assert request.log_dirs == [b"d" * 16]
    assert request.features[0].name == "metadata.version"


def test_registration_is_tried_again_until_there_is_a_controller() -> None:
    controller = Controller()
    controller.registration = BrokerRegistrationResponse(error_code=ErrorCode.NOT_CONTROLLER)
    done: list[Exception | None] = []
    controller.lifecycle.register(controller.identity, done.append)
    controller.scheduler.run_for(350)
    assert (len(controller.sent), done) == (4, [])
    controller.registration = BrokerRegistrationResponse(broker_epoch=1)
    controller.scheduler.run_for(100)
    assert done == [None]


def test_a_broker_whose_id_another_process_has_says_so_now_and_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not within the session that its own last process may have left."""
    controller = Controller()
    duplicate = BrokerRegistrationResponse(error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION)
    controller.registration = duplicate
    controller.lifecycle.register(controller.identity, lambda _: None)
    controller.scheduler.run_for(11_500)
    assert caplog.messages == []
    controller.scheduler.run_for(1_000)
    (line,) = caplog.messages
    assert line.startswith("another process with node.id=4 is registered and alive")
    controller.scheduler.run_for(59_000)
    assert len(caplog.messages) == 1
    controller.scheduler.run_for(2_000)
    assert len(caplog.messages) == 2


def test_a_refusal_for_good_is_told() -> None:
    controller = Controller()
    controller.registration = BrokerRegistrationResponse(
        error_code=ErrorCode.INCONSISTENT_CLUSTER_ID
    )
    done: list[Exception | None] = []
    controller.lifecycle.register(controller.identity, done.append)
    (error,) = done
    assert isinstance(error, RegistrationRefused)
    assert isinstance(error, StartError), "the node says it in one line"
    assert "INCONSISTENT_CLUSTER_ID" in str(error)


def test_heartbeats_unfence_once_and_go_on_at_their_interval() -> None:
    controller = Controller()
    controller.lifecycle.register(controller.identity, lambda _: None)
    unfenced: list[bool] = []
    controller.lifecycle.unfence(lambda: unfenced.append(True))
    controller.scheduler.run_for(150)
    assert unfenced == []
    controller.heartbeat = BrokerHeartbeatResponse(is_fenced=False)
    controller.scheduler.run_for(100)
    assert unfenced == [True]
    before = len(controller.sent)
    controller.scheduler.run_for(6000)
    assert len(controller.sent) == before + 3
    _, request = controller.sent[-1]
    assert (request.broker_epoch, request.current_metadata_offset, request.want_fence) == (
        77,
        123,
        False,
    )


def test_a_registration_that_another_has_taken_over_is_made_again() -> None:
    controller = Controller()
    lifecycle, scheduler = controller.lifecycle, controller.scheduler
    lifecycle.register(controller.identity, lambda _: None)
    served: list[bool] = []
    stale = BrokerHeartbeatResponse(error_code=int(ErrorCode.STALE_BROKER_EPOCH))
    controller.heartbeat = stale
    lifecycle.unfence(lambda: served.append(True))
    controller.registration = BrokerRegistrationResponse(broker_epoch=90)
    controller.heartbeat = BrokerHeartbeatResponse(is_fenced=False)
    scheduler.run_for(3 * REGISTRATION_RETRY_MS)
    assert (lifecycle.epoch, served) == (90, [True])
    assert controller.sent[-1][1].broker_epoch == 90

    controller.heartbeat, controller.incarnation = stale, b"last life"
    controller.registration = BrokerRegistrationResponse(broker_epoch=95)
    scheduler.run_for(CONFIG.broker_heartbeat_interval_ms)
    controller.heartbeat = BrokerHeartbeatResponse(is_fenced=False)
    scheduler.run_for(3 * REGISTRATION_RETRY_MS)
    assert lifecycle.epoch == 95
    assert controller.sent[-1][1].broker_epoch == 95


@pytest.mark.parametrize("registered", [None, b"i" * 16])
def test_a_broker_that_was_unregistered_stays_so(registered: bytes | None) -> None:
    controller = Controller()
    controller.heartbeat = BrokerHeartbeatResponse(is_fenced=False)
    controller.lifecycle.register(controller.identity, lambda _: None)
    controller.lifecycle.unfence(lambda: None)
    controller.sent.clear()
    controller.incarnation = registered
    controller.heartbeat = BrokerHeartbeatResponse(error_code=int(ErrorCode.STALE_BROKER_EPOCH))
    controller.scheduler.run_for(3 * CONFIG.broker_heartbeat_interval_ms)
    assert len(controller.sent) >= 2
    assert all(isinstance(request, BrokerHeartbeatRequest) for _, request in controller.sent)


def test_a_stopped_broker_is_silent() -> None:
    controller = Controller()
    controller.lifecycle.register(controller.identity, lambda _: None)
    controller.lifecycle.unfence(lambda: None)
    controller.lifecycle.stop()
    before = len(controller.sent)
    controller.scheduler.run_for(10_000)
    assert len(controller.sent) == before
    assert controller.scheduler.pending() == 0


def unfenced() -> Controller:
    controller = Controller()
    controller.lifecycle.register(controller.identity, lambda _: None)
    controller.heartbeat = BrokerHeartbeatResponse(is_fenced=False)
    controller.lifecycle.unfence(lambda: None)
    controller.sent.clear()
    return controller


def test_a_controlled_shutdown_asks_until_it_may_end() -> None:
    controller = unfenced()
    ended: list[float] = []
    controller.lifecycle.shut_down(lambda: ended.append(controller.scheduler.now_ms))
    controller.scheduler.run_for(1_000)
    assert ended == []
    assert all(request.want_shut_down for _, request in controller.sent)
    assert len(controller.sent) == 1 + 1_000 // SHUT_DOWN_POLL_MS
    controller.heartbeat = BrokerHeartbeatResponse(is_fenced=True, should_shut_down=True)
    controller.scheduler.run_for(10_000)
    assert ended == [1_000 + SHUT_DOWN_POLL_MS]
    # Another heartbeat would ask the controller to unfence it.
    assert controller.sent[-1][0] == ended[0]


def test_a_controlled_shutdown_ends_without_leave_after_its_time() -> None:
    controller = unfenced()
    ended: list[float] = []
    controller.lifecycle.shut_down(lambda: ended.append(controller.scheduler.now_ms))
    controller.scheduler.run_for(10_000)
    assert ended == [SHUT_DOWN_TIMEOUT_MS]


def test_a_controlled_shutdown_ends_soon_where_no_controller_answers() -> None:
    controller = unfenced()
    controller.silent = True
    ended: list[float] = []
    controller.lifecycle.shut_down(lambda: ended.append(controller.scheduler.now_ms))
    controller.scheduler.run_for(10_000)
    assert ended == [SHUT_DOWN_SILENCE_MS]


def test_no_answer_is_asked_again_soon() -> None:
    controller = unfenced()
    controller.silent = True
    controller.scheduler.run_for(2_000)
    waiting = controller.unanswered.pop()
    controller.silent = False
    waiting(None)
    controller.scheduler.run_for(REGISTRATION_RETRY_MS)
    assert len(controller.sent) == 2


def test_heartbeats_name_the_log_directories_that_failed_and_the_first_comes_at_once() -> None:
    controller = Controller()
    controller.lifecycle.log_dir_failed()  # not registered yet: nobody to tell
    assert controller.sent == []
    controller.lifecycle.register(controller.identity, lambda _: None)
    controller.lifecycle.unfence(lambda: None)
    controller.offline.append(b"d" * 16)
    controller.lifecycle.log_dir_failed()
    controller.scheduler.run_for(2000)
    heartbeats = [one for _, one in controller.sent if isinstance(one, BrokerHeartbeatRequest)]
    assert [one.offline_log_dirs for one in heartbeats[:3]] == [[], [b"d" * 16], [b"d" * 16]]
    assert controller.sent[2][0] == 0


def test_a_log_directory_that_no_controller_hears_of_in_time_ends_the_broker() -> None:
    controller = unfenced()
    controller.offline.append(b"d" * 16)
    controller.heartbeat = BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER)
    controller.lifecycle.log_dir_failed()
    controller.scheduler.run_for(29_000)
    assert controller.halted == []
    controller.scheduler.run_for(2_000)
    assert controller.halted == [
        "no controller could be told that the log directory ZGRkZGRkZGRkZGRkZGRkZA is offline"
    ]


def test_one_that_it_heard_of_does_not() -> None:
    controller = unfenced()
    controller.offline.append(b"d" * 16)
    controller.lifecycle.log_dir_failed()
    controller.scheduler.run_for(1_000)
    controller.heartbeat = BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER)
    controller.scheduler.run_for(90_000)
    assert controller.halted == []
    controller.offline.append(b"e" * 16)
    controller.lifecycle.log_dir_failed()
    controller.lifecycle.stop()
    controller.scheduler.run_for(90_000)
    assert controller.halted == []
