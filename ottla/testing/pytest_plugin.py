"""The pytest plugin that ships with Ottla: a real broker as a fixture.

`ottla_broker` is one broker in a process of its own, on a free port, with a temporary data folder;
`ottla_broker_factory(properties={…})` makes more of them, or others. How long `ottla_broker` lives
is set by `ottla_broker_scope` in the pytest configuration: function (default), class, module,
package or session. What a broker printed is shown with the test that failed.

It is loaded into every pytest run of the environment, so it imports nothing but pytest until a
fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Literal, cast

import pytest

if TYPE_CHECKING:
    from ottla.testing.broker_process import BrokerProcess

_SCOPES = ("function", "class", "module", "package", "session")
_FIXTURES = ("ottla_broker", "ottla_broker_factory")
_Scope = Literal["session", "package", "module", "class", "function"]
_RUNNING = pytest.StashKey[list["BrokerProcess"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the one setting."""
    parser.addini(
        "ottla_broker_scope", "how long ottla_broker lives: function … session", default="function"
    )


def _scope(fixture_name: str, config: pytest.Config) -> _Scope:
    scope = str(config.getini("ottla_broker_scope"))
    if scope not in _SCOPES:
        raise pytest.UsageError(
            f"ottla_broker_scope is {scope}; it must be one of {', '.join(_SCOPES)}"
        )
    return cast(_Scope, scope)


@pytest.fixture(scope="session")
def ottla_broker_factory(
    request: pytest.FixtureRequest,
) -> Iterator[Callable[..., BrokerProcess]]:
    """Start brokers: `ottla_broker_factory(properties={"num.partitions": "3"})`.

    Arguments are those of `ottla.testing.broker_process.BrokerProcess`. All are stopped when the
    session ends; `close()` stops one before.
    """
    from ottla.testing.broker_process import BrokerProcess

    running = request.config.stash.setdefault(_RUNNING, [])

    def make(*arguments: Any, **options: Any) -> BrokerProcess:
        process = BrokerProcess(*arguments, **options)
        running.append(process)
        return process.start()

    yield make
    while running:
        running.pop().close()


@pytest.fixture(scope=_scope)
def ottla_broker(
    request: pytest.FixtureRequest, ottla_broker_factory: Callable[..., BrokerProcess]
) -> Iterator[BrokerProcess]:
    """One running broker; `ottla_broker.bootstrap_servers` is what a client needs."""
    process = ottla_broker_factory()
    yield process
    request.config.stash[_RUNNING].remove(process)
    process.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the brokers printed to the report of a test that used them and failed."""
    report = yield
    names = getattr(item, "fixturenames", ())
    if report.failed and any(name in names for name in _FIXTURES):
        for process in item.config.stash.get(_RUNNING, []):
            title = f"Ottla broker on {process.bootstrap_servers}"
            report.sections.append((title, process.output()))
    return report
