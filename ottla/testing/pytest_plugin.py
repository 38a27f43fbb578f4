"""The pytest plugin that comes with Ottla: real brokers as fixtures.

`ottla`                one broker for the whole session, emptied before each test: the fastest
`ottla_broker`         a new broker; `ottla_broker_scope` in the configuration sets its scope
`ottla_broker_factory` starts brokers: `ottla_broker_factory(properties={…})`
`ottla_cluster`        three brokers that form a cluster

`@pytest.mark.ottla(properties={…}, topics=[…])` says what a test needs of them. If a test fails,
its report has the output of its brokers. `--ottla-keep-data` keeps their folders. With
`OTTLA_BOOTSTRAP_SERVERS`, `ottla` and `ottla_broker` are a cluster that runs already. A test is
skipped if it needs what such a cluster cannot do.

Every pytest run of the environment loads this plugin, so it imports only pytest until a fixture is
used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, cast

import pytest

from ottla.testing.made_brokers import MadeBrokers

if TYPE_CHECKING:
    from ottla.testing.broker import Broker
    from ottla.testing.broker_factory import BrokerFactory
    from ottla.testing.cluster import Cluster
    from ottla.testing.session import SessionBrokers

_SCOPES = ("function", "class", "module", "package", "session")
_Scope = Literal["session", "package", "module", "class", "function"]
_MARKER = (
    "ottla(properties={…}, topics=[…]): server keys, and topics (or a mapping to their numbers of "
    "partitions), that the test needs of the fixtures ottla, ottla_broker and ottla_cluster"
)
_STARTING = ("ottla", "ottla_broker", "ottla_broker_factory", "ottla_cluster")
_KEPT = "--ottla-keep-data"
_REAL_CLUSTER = "OTTLA_BOOTSTRAP_SERVERS"

_MADE = pytest.StashKey[MadeBrokers]()
_NOT_POSSIBLE = pytest.StashKey[bool]()
"""Set for a test that was skipped because the running cluster cannot do what it needs."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the setting `ottla_broker_scope` and the option `--ottla-keep-data`."""
    parser.addini(
        "ottla_broker_scope", "how long ottla_broker lives: function … session", default="function"
    )
    parser.getgroup("ottla").addoption(
        _KEPT,
        action="store_true",
        help="keep the folders of the fixtures' brokers; a failed test says where they are",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `ottla`, and prepare the record of brokers and their makers. Raises
    pytest.UsageError for a wrong `ottla_broker_scope`, before any test runs."""
    config.addinivalue_line("markers", _MARKER)
    config.stash[_MADE] = MadeBrokers()
    scope = str(config.getini("ottla_broker_scope"))
    if scope not in _SCOPES:
        raise pytest.UsageError(
            f"ottla_broker_scope is {scope}; it must be one of {', '.join(_SCOPES)}"
        )


def _scope(fixture_name: str, config: pytest.Config) -> _Scope:
    """Return the scope of the fixture `ottla_broker`, which the setting `ottla_broker_scope`
    has."""
    return cast(_Scope, str(config.getini("ottla_broker_scope")))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the host, and let it import the broker's modules while the first tests run. Does
    nothing if no test uses a fixture of this plugin, or all use a running cluster."""
    wanted = any(
        name in _STARTING for item in session.items for name in getattr(item, "fixturenames", ())
    )
    if wanted and not os.environ.get(_REAL_CLUSTER) and not session.config.option.collectonly:
        from ottla.testing.host import the_host

        the_host().load()


# --- fixtures -------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def _ottla_session(request: pytest.FixtureRequest) -> Iterator[SessionBrokers]:
    """Yield the brokers of the session, none of which runs yet. End them after the session."""
    from ottla.testing.session import SessionBrokers

    brokers = SessionBrokers(
        keep_data=_keeps(request.config), bootstrap_servers=os.environ.get(_REAL_CLUSTER, "")
    )
    yield brokers
    brokers.close()


@pytest.fixture
def ottla(request: pytest.FixtureRequest, _ottla_session: SessionBrokers) -> Iterator[Broker]:
    """Yield the session's broker, emptied, with the topics of the test's marker; a client connects
    to `ottla.bootstrap_servers`. With OTTLA_BOOTSTRAP_SERVERS, yield that cluster, not emptied."""
    properties, topics = _wanted(request)
    broker = _ottla_session.broker_with(properties)
    made = request.config.stash[_MADE]
    maker = made.maker
    made.add(broker, offset=broker.output_size)
    with _topics(broker, topics):
        yield broker
    made.pop_maker(maker)  # the broker outlives the test


@pytest.fixture(scope="session")
def ottla_broker_factory(request: pytest.FixtureRequest) -> BrokerFactory:
    """Return a factory that starts brokers: `ottla_broker_factory(properties={"num.partitions":
    "3"})`.

    The arguments are those of `ottla.testing.Broker`. A broker ends with the fixture or the test
    that made it; `close()` ends it earlier. With OTTLA_BOOTSTRAP_SERVERS, the test is skipped.
    """
    _refuse_real_cluster("ottla_broker_factory")
    from ottla.testing.broker_factory import BrokerFactory

    return BrokerFactory(request.config.stash[_MADE].add, keep_data=_keeps(request.config))


@pytest.fixture(scope=_scope)
def ottla_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """Yield a new broker with the properties and topics of the test's marker; a client connects to
    `ottla_broker.bootstrap_servers`. With OTTLA_BOOTSTRAP_SERVERS, yield that cluster, not
    emptied."""
    properties, topics = _wanted(request)
    if os.environ.get(_REAL_CLUSTER):
        broker = request.getfixturevalue("_ottla_session").broker_with(properties)
    else:
        broker = request.getfixturevalue("ottla_broker_factory")(properties)
    with _topics(broker, topics):
        yield broker


@pytest.fixture
def ottla_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Yield three new brokers that form a cluster, for one test, with the properties and topics of
    its marker. With OTTLA_BOOTSTRAP_SERVERS, the test is skipped."""
    _refuse_real_cluster("ottla_cluster")
    from ottla.testing.cluster import Cluster

    properties, topics = _wanted(request)
    cluster = Cluster(properties=properties, keep_data=_keeps(request.config))
    request.config.stash[_MADE].add(*cluster.brokers)
    cluster.start()
    with _topics(cluster.brokers[0], topics):
        yield cluster


def _wanted(request: pytest.FixtureRequest) -> tuple[Mapping[str, str], Mapping[str, int]]:
    """Return the properties, and the topics with their numbers of partitions, that the marker of
    the test, its class or its module asks for.

    Raises pytest.UsageError if the marker has other arguments.
    """
    marker = request.node.get_closest_marker("ottla")
    if marker is None:
        return {}, {}
    if marker.args or set(marker.kwargs) - {"properties", "topics"}:
        raise pytest.UsageError(f"@pytest.mark.ottla takes properties and topics: {marker}")
    topics = marker.kwargs.get("topics") or {}
    if not isinstance(topics, Mapping):
        topics = dict.fromkeys([topics] if isinstance(topics, str) else topics, 1)
    return marker.kwargs.get("properties") or {}, topics


@contextmanager
def _topics(broker: Broker, topics: Mapping[str, int]) -> Iterator[None]:
    """Create the topics, with these names and numbers of partitions, at the start of the block. At
    its end, delete all topics of the test from a cluster that was running already."""
    for name, partitions in topics.items():
        broker.call("topic.create", {"name": name, "partitions": partitions})
    yield
    if os.environ.get(_REAL_CLUSTER):
        if topics:
            broker.call("topic.delete", {"names": list(topics)})
        broker.drop_topics()


def _keeps(config: pytest.Config) -> bool:
    """Return whether the option `--ottla-keep-data` was given."""
    return bool(config.getoption(_KEPT))


def _refuse_real_cluster(fixture: str) -> None:
    """Skip the test if OTTLA_BOOTSTRAP_SERVERS names a running cluster, because `fixture` starts
    brokers."""
    if os.environ.get(_REAL_CLUSTER):
        pytest.skip(f"{fixture} starts brokers: not with {_REAL_CLUSTER}")


# --- makers of brokers, and reports ---------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Record the fixture as the maker of the brokers that start during its setup."""
    under_way = request.config.stash[_MADE].under_way
    under_way.append((fixturedef.baseid, fixturedef.argname))
    try:
        return (yield)
    finally:
        under_way.pop()


@pytest.hookimpl(trylast=True)
def pytest_fixture_post_finalizer(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> None:
    """Close the brokers that the fixture made, and forget them."""
    for broker in request.config.stash[_MADE].pop_maker((fixturedef.baseid, fixturedef.argname)):
        broker.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Record the test as the maker of the brokers that start while it runs. At its end, close these
    brokers."""
    made = item.config.stash[_MADE]
    maker = item.nodeid, ""
    made.under_way.append(maker)
    try:
        return (yield)
    finally:
        made.under_way.remove(maker)
        for broker in made.pop_maker(maker):
            broker.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Skip a test whose fixtures raise NotPossible, because the cluster in OTTLA_BOOTSTRAP_SERVERS
    cannot provide them."""
    with _skipping(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Skip a test that raises NotPossible, because it does what the cluster in
    OTTLA_BOOTSTRAP_SERVERS cannot do."""
    with _skipping(item):
        return (yield)


@contextmanager
def _skipping(item: pytest.Item) -> Iterator[None]:
    """Turn NotPossible, raised in the block, into a skipped test if the tests run on a real
    cluster, and mark the test for its report. Other errors are raised on."""
    try:
        yield
    except Exception as error:
        errors = sys.modules.get("ottla.testing.errors")
        if errors is None or not os.environ.get(_REAL_CLUSTER):
            raise
        if isinstance(error, errors.NotPossible):
            item.stash[_NOT_POSSIBLE] = True
            pytest.skip(str(error))
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the output of its brokers to the report of a failed test. For a skipped test, report the
    test's own line as the place."""
    report = yield
    if report.failed:
        for broker, offset in item.config.stash[_MADE].used_by(item):
            text = broker.output(offset) or "(it printed nothing)"
            if _keeps(item.config) and not os.environ.get(_REAL_CLUSTER):
                text = f"{text}\nits data are kept in {broker.data_dir}"
            report.sections.append((f"Ottla broker on {broker.bootstrap_servers}", text))
    if report.skipped and item.stash.get(_NOT_POSSIBLE, False):
        path, line, _ = item.reportinfo()
        assert isinstance(report.longrepr, tuple) and line is not None
        vars(report).update(longrepr=(str(path), line + 1, report.longrepr[2]))
    return report
