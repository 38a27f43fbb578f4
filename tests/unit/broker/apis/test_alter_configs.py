from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import pytest

from broker.apis.alter_configs import (
    AlterConfigsApis,
    refuse_alter_configs,
    refuse_incremental_alter_configs,
)
from broker.apis.broker_loggers import BrokerLoggers
from broker.config.parse import single_node_config
from broker.config.security_settings import ListenerSecurity
from broker.config.values import BrokerConfig
from broker.requests.context import RequestContext, Respond
from controller.metadata.image import ResourceType
from ottla.plugins.authorizer import Operation
from protocol.errors import ApiError, ErrorCode
from protocol.messages import alter_configs as replacing
from protocol.messages import incremental_alter_configs as incremental
from tests.unit.broker.apis.api_fixture import Cluster, ask
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import on_cluster, rights_of

TOPIC, BROKER, LOGGER = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.BROKER_LOGGER
SET, DELETE, APPEND, SUBTRACT = range(4)
NAME = "ottla.test_alter_configs"
INVALID = ErrorCode.INVALID_REQUEST

Change = tuple[str, int, str | None]


class Server:
    """The APIs above a controller that accepts everything and remembers it."""

    def __init__(self, overrides: Mapping[str, str] | None = None) -> None:
        self.cluster = Cluster()
        self.forwarded: list[Any] = []
        self.asked_to_load: list[ListenerSecurity] = []
        self.load_fault: ApiError | None = None
        self.elsewhere = self.broken = False
        config = single_node_config(overrides)
        self.api = AlterConfigsApis(
            self.cluster,
            config,
            BrokerLoggers(),
            self._controller,
            self,
            Turns().answers,
            self._load,
        )

    def submit(self, job: Callable[[], Any], done: Callable[[Any, Exception | None], None]) -> None:
        """Run the job, as `ground.ports.Blocking` does."""
        self.elsewhere = True
        try:
            outcome: tuple[Any, Exception | None] = job(), None
        except ZeroDivisionError as error:
            outcome = None, error
        self.elsewhere = False
        done(*outcome)

    def _load(self, new: BrokerConfig, listeners: Collection[str]) -> ApiError | None:
        assert self.elsewhere, "it would hold the event loop"
        self.asked_to_load += [new.listener_security[name] for name in listeners]
        if self.broken:
            raise ZeroDivisionError
        return self.load_fault

    def _controller(self, _: RequestContext, request: Any, respond: Respond) -> None:
        self.forwarded.append(request)
        done: Any
        if isinstance(request, incremental.IncrementalAlterConfigsRequest):
            done = incremental.AlterConfigsResourceResponse
            answer: Any = incremental.IncrementalAlterConfigsResponse()
        else:
            done = replacing.AlterConfigsResourceResponse
            answer = replacing.AlterConfigsResponse()
        answer.responses = [
            done(0, None, one.resource_type, one.resource_name) for one in request.resources
        ]
        respond(answer)

    def change(
        self,
        *resources: tuple[int, str, list[Change]],
        validate_only: bool = False,
        version: int = 1,
    ) -> list[tuple[str, int, str | None]]:
        request = incremental.IncrementalAlterConfigsRequest(
            [
                incremental.AlterConfigsResource(
                    kind, name, [incremental.AlterableConfig(*change) for change in changes]
                )
                for kind, name, changes in resources
            ],
            validate_only,
        )
        response = ask(self.api.handle_incremental, request, version)
        return [(r.resource_name, r.error_code, r.error_message) for r in response.responses]

    def change_one(self, kind: int, name: str, *changes: Change) -> tuple[int, str | None]:
        ((_, error, message),) = self.change((kind, name, list(changes)))
        return error, message

    def replace(
        self, *resources: tuple[int, str, dict[str, str | None]], version: int = 2
    ) -> list[tuple[str, int, str | None]]:
        request = replacing.AlterConfigsRequest(
            [
                replacing.AlterConfigsResource(
                    kind,
                    name,
                    [replacing.AlterableConfig(key, value) for key, value in configs.items()],
                )
                for kind, name, configs in resources
            ]
        )
        response = ask(self.api.handle, request, version)
        return [(r.resource_name, r.error_code, r.error_message) for r in response.responses]


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    one = logging.getLogger(NAME)
    root_level = logging.root.level
    yield one
    one.setLevel(logging.NOTSET)
    logging.root.setLevel(root_level)


@pytest.mark.parametrize("version", [0, 1])
def test_topics_go_to_the_controller(server: Server, version: int) -> None:
    answers = server.change(
        (TOPIC, "t", [("retention.ms", SET, "5")]), validate_only=True, version=version
    )
    assert answers == [("t", 0, None)]
    (request,) = server.forwarded
    assert request.validate_only
    assert request.resources[0].configs[0].value == "5"


def test_each_resource_by_itself_and_answers_together(server: Server) -> None:
    answers = server.change(
        (TOPIC, "t", [("retention.ms", SET, "5")]),
        (BROKER, "1", [("node.id", SET, "5")]),
        (LOGGER, "1", [(NAME, SET, "DEBUG")]),
        (BROKER, "", [("log.retention.ms", SET, "5")]),
    )
    assert [(name, error) for name, error, _ in answers] == [
        ("1", INVALID),
        ("1", 0),
        ("t", 0),
        ("", 0),
    ]
    assert [one.resource_name for one in server.forwarded[0].resources] == ["t", ""]


def test_nothing_is_forwarded_when_nothing_is_left(server: Server) -> None:
    assert server.change_one(BROKER, "1", ("node.id", SET, "5"))[0] == INVALID
    assert server.replace((BROKER, "1", {"node.id": "5"}))[0][1] == INVALID
    assert server.forwarded == []


def test_a_resource_named_twice_is_refused_in_all_its_mentions(server: Server) -> None:
    change: list[Change] = [("retention.ms", SET, "5")]
    answers = server.change((TOPIC, "t", change), (TOPIC, "t", change), (TOPIC, "u", change))
    message = "Each resource must appear at most once."
    assert answers == [("t", INVALID, message), ("t", INVALID, message), ("u", 0, None)]
    answers = server.replace((TOPIC, "t", {}), (TOPIC, "t", {}))
    assert answers == [("t", INVALID, message)] * 2


def test_keys_named_twice_and_nulls(server: Server) -> None:
    twice = server.change_one(TOPIC, "t", ("a", SET, "1"), ("a", DELETE, None))
    assert twice == (INVALID, "Error due to duplicate config keys")
    null = server.change_one(TOPIC, "t", ("a", SET, None))
    assert null == (INVALID, "Null value not supported for : a")
    assert server.change_one(TOPIC, "t", ("a", DELETE, None)) == (0, None)
    ((_, error, message),) = server.replace((TOPIC, "t", {"a": None}))
    assert (error, message) == null


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("2", "Unexpected broker id, expected 1, but received 2"),
        ("\u0663", "Unexpected broker id, expected 1, but received \u0663"),
        ("x", "Node id must be an integer, but it is: x"),
        ("9" * 5_000, f"Node id must be an integer, but it is: {'9' * 5_000}"),
    ],
)
def test_another_brokers_configs_are_not_ours_to_judge(
    server: Server, name: str, words: str
) -> None:
    refused = (INVALID, words)
    assert server.change_one(BROKER, name, ("log.retention.ms", SET, "5")) == refused
    ((_, error, message),) = server.replace((BROKER, name, {}))
    assert (error, message) == refused


@pytest.mark.parametrize("name", ["1", "01", "+1"])
def test_this_brokers_id_may_be_written_as_any_integer(server: Server, name: str) -> None:
    assert server.change_one(BROKER, name, ("log.retention.ms", SET, "5")) == (0, None)


def test_broker_lists_are_appended_to_and_taken_from(server: Server) -> None:
    key = "log.cleanup.policy"
    assert server.change_one(BROKER, "1", (key, APPEND, "compact")) == (0, None)
    (change,) = server.forwarded.pop().resources[0].configs
    assert (change.config_operation, change.value) == (SET, "delete,compact")
    server.cluster.set_config(BROKER, "1", key, "delete,compact")
    assert server.change_one(BROKER, "1", (key, SUBTRACT, "delete")) == (0, None)
    (change,) = server.forwarded.pop().resources[0].configs
    assert change.value == "compact"


def test_stores_of_a_listener_are_read_before_they_are_kept() -> None:
    server = Server({"listener.security.protocol.map": "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT"})
    key = "listener.name.plaintext.ssl.keystore.location"
    assert server.change_one(BROKER, "1", (key, SET, "/k")) == (0, None)
    (new,) = server.asked_to_load
    assert new.tls is not None and new.tls.keystore_location == "/k"
    server.cluster.set_config(BROKER, "1", key, "/k")
    assert server.change_one(BROKER, "1", (key, SET, "/k")) == (0, None)
    assert len(server.asked_to_load) == 2  # the file may be another one now
    assert server.change_one(BROKER, "1", ("log.retention.ms", SET, "5")) == (0, None)
    assert len(server.asked_to_load) == 2
    assert len(server.forwarded) == 3
    server.load_fault = ApiError(INVALID, "cannot be read")
    assert server.change_one(BROKER, "1", (key, DELETE, None)) == (INVALID, "cannot be read")
    assert server.replace((BROKER, "1", {key: "/l"})) == [("1", INVALID, "cannot be read")]
    assert len(server.forwarded) == 3
    # What stands beside it goes on.
    topic = (TOPIC, "t", [("retention.ms", SET, "5")])
    both = server.change((BROKER, "1", [(key, SET, "/l")]), topic)
    assert both == [("1", INVALID, "cannot be read"), ("t", 0, None)]
    assert [one.resource_name for one in server.forwarded[-1].resources] == ["t"]
    server.broken = True
    unknown = ErrorCode.UNKNOWN_SERVER_ERROR
    assert server.change_one(BROKER, "1", (key, SET, "/l"))[0] == unknown


def test_only_lists_are_appended_to(server: Server) -> None:
    error, message = server.change_one(BROKER, "1", ("log.retention.ms", APPEND, "5"))
    assert error == ErrorCode.INVALID_CONFIG
    assert message == "Config value append is not allowed for config key: log.retention.ms"
    error, message = server.change_one(BROKER, "1", ("log.retention.ms", 7, "5"))
    assert (error, message) == (INVALID, "Unknown operations type 7")
    for unknown in ("", "nonsense", "listener.name.x.ssl.keystore.location"):
        error, message = server.change_one(BROKER, "1", (unknown, SUBTRACT, "5"))
        assert error == ErrorCode.INVALID_CONFIG
        assert message == f"Config value subtract is not allowed for config key: {unknown}"


def test_a_deleted_broker_key_stays_deleted(server: Server) -> None:
    server.cluster.set_config(BROKER, "1", "log.retention.ms", "5")
    assert server.change_one(BROKER, "1", ("log.retention.ms", DELETE, None)) == (0, None)
    (change,) = server.forwarded[0].resources[0].configs
    assert (change.name, change.config_operation) == ("log.retention.ms", DELETE)


def test_replacing_a_brokers_configs(server: Server) -> None:
    assert server.replace((BROKER, "1", {"log.retention.ms": "5"})) == [("1", 0, None)]
    ((_, error, message),) = server.replace((BROKER, "1", {"log.retention.ms": "x"}))
    assert error == INVALID
    assert (
        message == "Invalid value x for configuration log.retention.ms: Not a number of type LONG"
    )


@pytest.mark.parametrize("version", range(3))
def test_replacing_a_topics_configs_goes_to_the_controller(server: Server, version: int) -> None:
    assert server.replace((TOPIC, "t", {"retention.ms": "5"}), version=version) == [("t", 0, None)]
    # Kafka has logger levels in the incremental request only
    server.replace((LOGGER, "1", {"root": "INFO"}))
    assert server.forwarded[1].resources[0].resource_type == LOGGER


def test_logger_levels(server: Server, logger: logging.Logger) -> None:
    assert server.change_one(LOGGER, "1", (NAME, SET, "DEBUG")) == (0, None)
    assert logger.level == logging.DEBUG
    assert server.change_one(LOGGER, "1", (NAME, DELETE, None)) == (0, None)
    assert logger.level == logging.NOTSET
    assert server.change_one(LOGGER, "1", ("root", SET, "ERROR")) == (0, None)
    assert logging.root.level == logging.ERROR
    assert server.forwarded == []


def test_levels_are_not_set_when_only_validated(server: Server, logger: logging.Logger) -> None:
    server.change((LOGGER, "1", [(NAME, SET, "DEBUG")]), validate_only=True)
    assert logger.level == logging.NOTSET


def test_one_wrong_level_and_none_is_set(server: Server, logger: logging.Logger) -> None:
    error, _ = server.change_one(LOGGER, "1", (NAME, SET, "DEBUG"), ("root", SET, "LOUD"))
    assert error == ErrorCode.INVALID_CONFIG
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    ("broker", "change", "error", "words"),
    [
        ("", (NAME, SET, "INFO"), INVALID, "Node id must be an integer, but it is: "),
        ("x", (NAME, SET, "INFO"), INVALID, "Node id must be an integer, but it is: x"),
        ("2", (NAME, SET, "INFO"), INVALID, "Unexpected node id. Expected 1, but received 2"),
        ("1", ("none", SET, "INFO"), ErrorCode.INVALID_CONFIG, "Logger none does not exist!"),
        (
            "1",
            (NAME, SET, "LOUD"),
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {NAME} to LOUD as it is not a supported log level. "
            "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
        ),
        ("1", ("root", DELETE, None), INVALID, "Removing the log level of the root logger is "),
        ("1", (NAME, APPEND, "INFO"), INVALID, "APPEND operation is not allowed for the BROKER_L"),
        ("1", (NAME, SUBTRACT, "INFO"), INVALID, "SUBTRACT operation is not allowed for the BROK"),
        ("1", (NAME, 7, "INFO"), INVALID, "Unknown operations type 7"),
    ],
)
def test_logger_changes_that_are_refused(
    server: Server, broker: str, change: Change, error: int, words: str
) -> None:
    code, message = server.change_one(LOGGER, broker, change)
    assert code == error
    assert (message or "").startswith(words)


def test_refusals_name_every_resource() -> None:
    failed = ErrorCode.UNKNOWN_SERVER_ERROR
    one = replacing.AlterConfigsRequest([replacing.AlterConfigsResource(TOPIC, "t")])
    assert [r.error_code for r in refuse_alter_configs(one, failed).responses] == [-1]
    other = incremental.IncrementalAlterConfigsRequest(
        [incremental.AlterConfigsResource(TOPIC, "t")]
    )
    responses = refuse_incremental_alter_configs(other, failed).responses
    assert [(r.resource_name, r.error_code) for r in responses] == [("t", -1)]


# --- rights -----------------------------------------------------------------------------------


def test_what_only_this_broker_can_judge_it_judges_before_it_looks_at_a_value() -> None:
    server = Server()
    set_to = incremental.AlterableConfig
    asked = [
        incremental.AlterConfigsResource(BROKER, "1", [set_to("log.cleaner.threads", SET, "x")]),
        incremental.AlterConfigsResource(BROKER, "", [set_to("log.cleaner.threads", SET, "3")]),
        incremental.AlterConfigsResource(BROKER, "7", []),
        incremental.AlterConfigsResource(LOGGER, "1", [set_to(NAME, SET, "DEBUG")]),
        incremental.AlterConfigsResource(LOGGER, "9", []),
        incremental.AlterConfigsResource(TOPIC, "t", [set_to("retention.ms", SET, "1")]),
    ]
    request = incremental.IncrementalAlterConfigsRequest(asked)
    logging.getLogger(NAME).setLevel(logging.WARNING)
    others = rights_of(on_cluster(Operation.ALTER))
    answer = ask(server.api.handle_incremental, request, 1, rights=others)
    assert [(one.error_code, one.error_message) for one in answer.responses] == [
        (31, None),
        (31, None),
        (31, None),
        (31, None),
        (31, None),
        (0, None),  # of the controller, which judges topics
    ]
    (forwarded,) = server.forwarded
    assert [one.resource_name for one in forwarded.resources] == ["t"]
    assert logging.getLogger(NAME).level == logging.WARNING
    assert server.asked_to_load == []
    allowed = rights_of(on_cluster(Operation.ALTER_CONFIGS))
    answer = ask(server.api.handle_incremental, request, 1, rights=allowed)
    assert 31 not in [one.error_code for one in answer.responses]
    assert logging.getLogger(NAME).level == logging.DEBUG


def test_all_configs_of_a_broker_are_replaced_by_those_who_may() -> None:
    server = Server()
    wrong = replacing.AlterableConfig("log.cleaner.threads", "x")
    asked = [replacing.AlterConfigsResource(BROKER, name, [wrong]) for name in ("1", "", "7")]
    request = replacing.AlterConfigsRequest(asked)
    others = rights_of(on_cluster(Operation.ALTER))
    answer = ask(server.api.handle, request, 2, rights=others)
    assert [one.error_code for one in answer.responses] == [31, 31, 31]
    allowed = rights_of(on_cluster(Operation.ALTER_CONFIGS))
    answer = ask(server.api.handle, request, 2, rights=allowed)
    assert [one.error_code for one in answer.responses] == [42, 42, 42]
    assert server.forwarded == []
