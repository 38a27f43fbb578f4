"""The plugin as other projects meet it: pytest runs inside pytest, with a stand-in broker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]

# Replaces brokers by objects that count, before the fixtures import them.
STAND_IN = """
import pytest, ottla.testing.broker, ottla.testing.cluster, ottla.testing.host
from ottla.testing.errors import BrokerGone, NotPossible, StartFailed

class Broker:
    started = 0
    def __init__(self, properties=None, keep_data=False, **options):
        self.properties, self.keep_data = dict(properties or {}), keep_data
        self.running, self.calls, self.data_dir = False, [], "the folder"
        Broker.started += 1
        self.number = Broker.started
        self.bootstrap_servers = f"127.0.0.1:{self.number}"
        self.output_size, self.is_ahead = 0, False
    def start(self):
        if "wrong" in self.properties:
            raise StartFailed("it did not start")
        self.running = True
        return self
    def call(self, op, args=None, *, timeout_s=30):
        if not self.running:
            raise BrokerGone("it is gone")
        self.calls.append(op)
        self.output_size = 1
    def resume(self):
        if not self.running:
            raise BrokerGone("it is gone")
    def reset(self, *, timeout_s=10):
        self.call("reset")
    def drop_topics(self):
        pass
    def kill(self):
        raise NotPossible("ottla.kill() cannot be done there")
    def output(self, offset=0):
        return f"what broker {self.number} said from {offset}"
    def close(self):
        self.running = False

class Cluster:
    def __init__(self, brokers=3, properties=None, **options):
        self.brokers = [Broker(properties) for _ in range(brokers)]
    def start(self):
        for one in self.brokers:
            one.start()

class Host:
    def load(self):
        print("the host loads")

ottla.testing.host.the_host = Host
ottla.testing.broker.Broker = Broker
ottla.testing.cluster.Cluster = Cluster
"""

RUNNING = """
import ottla.testing.session

class Running(Broker):
    def __init__(self, bootstrap_servers):
        super().__init__()
        self.bootstrap_servers = bootstrap_servers
        self.running = True
    def begin_test(self): pass

ottla.testing.session.RunningCluster = Running
"""

STRICT = """
[tool.pytest.ini_options]
addopts = "--strict-markers --strict-config -p ottla.testing.pytest_plugin"
"""


def run(
    folder: Path,
    test: str,
    settings: str = STRICT,
    *options: str,
    conftest: str = "",
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    real = variables.get("OTTLA_BOOTSTRAP_SERVERS")
    (folder / "conftest.py").write_text(STAND_IN + (RUNNING if real else "") + conftest)
    (folder / "pyproject.toml").write_text(settings)
    (folder / "test_it.py").write_text(f"import pytest\n{test}")
    command = [sys.executable, "-P", "-m", "pytest", "-p", "no:randomly", "-rA", "-q", str(folder)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [*command, *options],
        cwd=folder,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


def passed(found: subprocess.CompletedProcess[str], count: int) -> bool:
    assert f"{count} passed" in found.stdout, found.stdout + found.stderr
    return found.returncode == 0


def test_each_test_has_its_own_broker(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        "seen = []\n"
        "def test_a(ottla_broker): seen.append(ottla_broker)\n"
        "def test_b(ottla_broker):\n"
        "    assert not seen[0].running and seen[0] is not ottla_broker\n"
        "def test_c(ottla_broker_factory):\n"
        "    one = ottla_broker_factory({'num.partitions': '3'})\n"
        "    seen.append(one)\n"
        "    assert one.properties == {'num.partitions': '3'} and one.running\n"
        "def test_d(): assert not seen[-1].running\n"
        "@pytest.fixture(scope='module')\n"
        "def mine(ottla_broker_factory): return ottla_broker_factory()\n"
        "def test_e(mine): seen.append(mine)\n"
        "def test_f(mine): assert mine is seen[-1] and mine.running\n"
        "def test_g(ottla_cluster): assert len(ottla_cluster.brokers) == 3\n",
    )
    assert passed(found, 7)


def test_a_fixture_ends_its_own_brokers_only(tmp_path: Path) -> None:
    """Also where another one has the same name."""
    found = run(
        tmp_path,
        "seen = []\n"
        "@pytest.fixture\n"
        "def mine(mine, ottla_broker_factory): return mine, ottla_broker_factory()\n"
        "def test_a(mine):\n"
        "    seen.extend(mine)\n"
        "    assert mine[0] is not mine[1] and mine[0].running and mine[1].running\n"
        "def test_b(mine):\n"
        "    assert mine[0] is seen[0] and mine[0].running and not seen[1].running\n",
        conftest="\n@pytest.fixture(scope='session')\n"
        "def mine(ottla_broker_factory): return ottla_broker_factory()\n",
    )
    assert passed(found, 2)


def test_the_host_loads_while_the_first_tests_run(tmp_path: Path) -> None:
    used = run(tmp_path, "def test_a(): pass\ndef test_b(ottla): pass\n", STRICT, "-s")
    assert used.stdout.count("the host loads") == 1
    for options in (("-k", "test_a"), ("--collect-only",)):
        unused = run(tmp_path, "def test_a(): pass\ndef test_b(ottla): pass\n", STRICT, *options)
        assert "the host loads" not in unused.stdout


def test_the_scope_is_a_setting(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        "seen = []\n"
        "def test_a(ottla_broker): seen.append(ottla_broker)\n"
        "def test_b(ottla_broker): assert seen[0] is ottla_broker and ottla_broker.running\n",
        STRICT + 'ottla_broker_scope = "session"\n',
    )
    assert passed(found, 2)


def test_a_wrong_scope_is_one_line(tmp_path: Path) -> None:
    wrong = run(tmp_path, "def test_a(): pass", STRICT + 'ottla_broker_scope = "x"\n')
    said = wrong.stdout + wrong.stderr
    assert wrong.returncode == 4
    assert said.strip().splitlines() == [
        "ERROR: ottla_broker_scope is x; it must be one of "
        "function, class, module, package, session"
    ]


def test_one_broker_of_the_session_is_emptied_for_each_test(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        "seen = []\n"
        "def test_a(ottla): seen.append(ottla); assert ottla.calls == []\n"
        "def test_b(ottla): assert ottla is seen[0] and ottla.calls == ['reset']\n"
        "@pytest.mark.ottla(properties={'num.partitions': 4}, topics=['a', 'b'])\n"
        "def test_c(ottla):\n"
        "    assert ottla is not seen[0] and ottla.properties == {'num.partitions': 4}\n"
        "    assert ottla.calls == ['topic.create', 'topic.create']\n"
        "def test_d(ottla): assert ottla is seen[0]; ottla.close()\n"
        "def test_e(ottla): assert ottla is not seen[0] and ottla.running\n",
    )
    assert passed(found, 5)


def test_a_failure_shows_what_its_own_brokers_said(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        "def test_a(ottla_broker_factory): ottla_broker_factory()\n"  # 1
        "def test_bad(ottla_broker): assert False\n"  # 2
        "def test_two(ottla_broker_factory):\n"
        "    ottla_broker_factory(), ottla_broker_factory(); assert False\n"  # 3, 4
        "def test_wrong(ottla_broker_factory): ottla_broker_factory({'wrong': ''})\n"  # 5
        "def test_ottla_a(ottla): pass\n"  # 6
        "def test_ottla_b(ottla): assert False\n"
        "def test_unrelated(): assert False\n"
        "@pytest.fixture(scope='module')\n"
        "def hidden(ottla_broker_factory): return ottla_broker_factory()\n"
        "def test_late(request):\n"
        "    request.getfixturevalue('hidden'); assert False\n",  # 7
    )
    shown = [line for line in found.stdout.splitlines() if line.startswith("what broker")]
    assert shown == [
        "what broker 2 said from 0",
        "what broker 3 said from 0",
        "what broker 4 said from 0",
        "what broker 6 said from 1",
        "what broker 7 said from 0",
    ]
    assert "6 failed" in found.stdout


def test_data_is_kept_where_it_is_asked_for(tmp_path: Path) -> None:
    test = "def test_a(ottla_broker): assert not ottla_broker.keep_data\n"
    found = run(tmp_path, test, STRICT, "--ottla-keep-data")
    assert "the folder" in found.stdout and "1 failed" in found.stdout


def test_with_a_real_cluster_what_cannot_be_done_is_skipped(tmp_path: Path) -> None:
    found = run(
        tmp_path,
        "def test_a(ottla_broker_factory): pass\n"
        "def test_b(ottla_cluster): pass\n"
        "def test_c(ottla): ottla.kill()\n"
        "@pytest.mark.ottla(properties={'num.partitions': 4})\n"
        "def test_d(ottla_broker): pass\n"
        "@pytest.mark.ottla(topics=['a', 'b'])\n"
        "def test_e(ottla, ottla_broker):\n"
        "    assert ottla is ottla_broker and ottla.bootstrap_servers == 'localhost:9092'\n"
        "    assert ottla.calls == ['topic.create'] * 4\n"
        "def test_f(ottla): assert ottla.calls == ['topic.create'] * 4 + ['topic.delete'] * 2\n",
        STRICT,
        OTTLA_BOOTSTRAP_SERVERS="localhost:9092",
    )
    assert "2 passed, 4 skipped" in found.stdout, found.stdout
    assert "test_it.py:4: ottla.kill() cannot be done there" in found.stdout
    assert "ottla_cluster starts brokers: not with OTTLA_BOOTSTRAP_SERVERS" in found.stdout
    assert "a running cluster is not given properties" in found.stdout


@pytest.mark.parametrize("marker", ["'a'", "property={}"])
def test_a_marker_that_says_something_else_is_refused(tmp_path: Path, marker: str) -> None:
    found = run(tmp_path, f"@pytest.mark.ottla({marker})\ndef test_a(ottla_broker): pass\n")
    assert "@pytest.mark.ottla takes properties and topics" in found.stdout


def test_nothing_heavy_is_imported_until_a_fixture_is_used() -> None:
    script = "import sys, ottla.testing.pytest_plugin; print(*(m for m in sys.modules if '.' in m))"
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = found.stdout.split()
    ours = [name for name in loaded if name.startswith(("ottla", "broker", "storage", "protocol"))]
    assert ours == ["ottla.testing", "ottla.testing.made_brokers", "ottla.testing.pytest_plugin"]
