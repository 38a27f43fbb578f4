"""A start imports only the modules that it needs, so that a node serves within 0.5 s."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.architecture.sources import ROOT

# Each import takes milliseconds, some take tens, and a start uses none of them.
NEVER_AT_START = (
    "argparse",
    "cramjam",
    "difflib",
    "http",
    "importlib.metadata",
    "numpy",
    "prometheus_client",
    "pytest",
    "random",
    "shutil",
    "unittest",
    "urllib.request",
    "xml",
)


def loaded_by(statement: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}; import sys; print(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_serving_loads_nothing_that_it_does_not_need() -> None:
    loaded = loaded_by("import command.cli, broker.process.server")
    assert [name for name in NEVER_AT_START if name in loaded] == []


def test_a_node_without_security_loads_nothing_of_it() -> None:
    made = "from broker.config.parse import single_node_config; single_node_config()"
    loaded = loaded_by(f"import broker.process.server; {made}")
    secured = ("broker.config.security", "broker.config.tls_and_sasl", "cryptography", "jwt")
    assert [name for name in secured if name in loaded] == []


def test_a_node_without_security_serves_and_stops_without_any_of_it(tmp_path: Path) -> None:
    """Look for all modules of security but `ssl`, which asyncio loads in every program. Share
    groups are not loaded either before there is one."""
    loaded = loaded_by(
        "import os, signal; from broker.config.file import load_config; "
        "from broker.process.server import run; "
        f"keys = ('listeners=PLAINTEXT://localhost:0', 'log.dirs={tmp_path / 'data'}'); "
        "stop = lambda _: os.kill(os.getpid(), signal.SIGTERM); "
        "run(load_config(None, keys), on_ready=stop)"
    )
    assert "broker.node.node" in loaded
    rooms = ("broker.security.tls", "broker.security.sasl", "broker.config.security")
    rooms += ("broker.plugins", "broker.apis.produce.interception", "controller.policies")
    rooms += tuple(f"ottla.plugins.{name}" for name in ("interceptor", "logins", "policies"))
    secured = (*rooms, "broker.config.tls_and_sasl", "cryptography", "jwt")
    assert [name for name in loaded if name.startswith(secured)] == []
    shares = ("broker.share", "broker.groups.share")
    assert [name for name in loaded if name.startswith(shares)] == []


def test_a_wrong_command_loads_no_broker() -> None:
    loaded = loaded_by("import command.cli")
    heavy = ("asyncio", "controller", "uvloop", "broker.process.server", "protocol.messages")
    assert [name for name in heavy if name in loaded] == []
