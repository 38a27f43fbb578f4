"""Hosts for the tests on one machine: Linux namespaces, joined by a bridge.

Each host has its own network, mounts, processes and name, an sshd on port 22, its own /mnt and
/tmp, and a user `ducker` who may use sudo. The bridge is in a namespace of its own, the hub, in
which ducktape runs, so that no packet of a test is on the machine's network.

Owns the processes of hosts and hub, which end with this process even if it is killed.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

from tests.tools.java_tools import PROJECT_DIR

SCRIPTS = Path(__file__).parent / "scripts"
NETWORK = "10.77.0"
"""The first three numbers of the hosts' addresses, which exist in the namespaces only."""
DEV = Path("/opt/kafka-dev")
PROGRAMS = ("sshd", "sudo", "nc", "iptables", "ip", "lsof", "unshare", "setpriv", "ssh-keygen")
COVERED = (Path("/home"), Path("/tmp"))
_DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
_NAMESPACES = ("--net", "--mount", "--uts", "--propagation", "private")
_SSHD_CONFIG = f"""\
HostKey /run/sshd/hostkey
AuthorizedKeysFile /run/sshd/authorized_keys
UsePAM no
UseDNS no
StrictModes no
PasswordAuthentication no
MaxSessions 500
MaxStartups 500
Subsystem sftp internal-sftp
PidFile none
LogLevel ERROR
SetEnv PATH={DEV}/shims:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LOG_DIR=/tmp/kafka-logs
"""


def why_not() -> str:
    """Return what this machine lacks for hosts, empty for nothing."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "namespaces need root on Linux"
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [name for name in PROGRAMS if not shutil.which(name, path=path)]
    return f"not installed: {', '.join(missing)} (README.md has the packages)" if missing else ""


class Hosts:
    """A hub and hosts named worker1, worker2 …, from `with` to its end.

    `folder` has `kafka-dev`, which hub and hosts see as /opt/kafka-dev.
    """

    def __init__(self, count: int, folder: Path) -> None:
        """Describe hosts, but start none yet."""
        self.count = count
        self.folder = folder
        self.cluster_file = folder / "ssh" / "cluster.json"
        self._hub: subprocess.Popen[str] | None = None
        self._hosts: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Hosts:
        """Start the hub and the hosts, and wait for their sshds."""
        DEV.mkdir(parents=True, exist_ok=True)
        self._write_settings()
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kill all processes of the hosts, and delete what is on their disks."""
        self._stop()

    def inside(self, *words: str | Path) -> list[str]:
        """Return a command line that runs a command in the hub, in the folder /opt/kafka-dev."""
        assert self._hub is not None
        enter = ["nsenter", "-t", str(self._hub.pid), "--net", "--mount", "--uts"]
        return [*enter, f"--wdns={DEV}", *map(str, words)]

    def _start(self) -> None:
        script = (SCRIPTS / "hub.sh", NETWORK, self.folder)
        self._hub = _started(_NAMESPACES, script, self.folder / "hub.log")
        _await(self._hub, "ready")
        visible = [PROJECT_DIR, Path(sys.prefix), Path(sys.base_prefix)]
        places = {"COVERED": covered(visible), "VISIBLE": visible}
        environment = {name: ":".join(map(str, paths)) for name, paths in places.items()}
        for index in range(1, self.count + 1):
            namespaces = (*_NAMESPACES, "--ipc", "--pid", "--mount-proc", "--fork", "--kill-child")
            words = (SCRIPTS / "host.sh", index, NETWORK, self.folder)
            log = self.folder / f"host{index}.log"
            self._hosts.append(_started(namespaces, words, log, environment))
        for host in self._hosts:
            _await(host, "up")
        self._join()
        for host in self._hosts:
            _await(host, "ready")

    def _join(self) -> None:
        """Give each host a cable to the bridge."""
        lines = []
        for index, host in enumerate(self._hosts, 1):
            lines.append(f"link add v{index} type veth peer name eth0 netns {host.pid}")
            lines.append(f"link set v{index} master br0 up")
        subprocess.run(
            self.inside("ip", "-batch", "-"), input="\n".join(lines), text=True, check=True
        )

    def _stop(self) -> None:
        for process in (*self._hosts, self._hub):
            if process is not None:
                process.kill()
                process.wait()
                assert process.stdout is not None
                process.stdout.close()
        self._hosts, self._hub = [], None
        shutil.rmtree(self.folder / "mnt", ignore_errors=True)

    def _write_settings(self) -> None:
        folder = self.folder / "ssh"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.folder / "mnt", ignore_errors=True)
        indices = range(1, self.count + 1)
        for index in indices:
            (self.folder / "mnt" / str(index)).mkdir(parents=True, exist_ok=True)
        for name, kind in (("key", ("-t", "rsa", "-m", "PEM")), ("hostkey", ("-t", "ed25519"))):
            if not (folder / name).exists():
                words = ["ssh-keygen", "-q", *kind, "-N", "", "-f", str(folder / name)]
                subprocess.run(words, check=True)
        shutil.copy(folder / "key.pub", folder / "authorized_keys")
        (folder / "sshd_config").write_text(_SSHD_CONFIG)
        names = [f"{NETWORK}.{index} worker{index}" for index in indices]
        (folder / "hosts").write_text("\n".join(["127.0.0.1 localhost", *names, ""]))
        self.cluster_file.write_text(json.dumps({"nodes": list(self._nodes())}, indent=1))

    def _nodes(self) -> Iterator[dict[str, object]]:
        """Yield the hosts as ducktape's JsonCluster describes them."""
        for index in range(1, self.count + 1):
            ssh = {"host": f"worker{index}", "hostname": f"worker{index}", "user": "ducker"}
            key = str(self.folder / "ssh" / "key")
            yield {
                "externally_routable_ip": f"{NETWORK}.{index}",
                "ssh_config": {**ssh, "port": 22, "password": "", "identityfile": key},
            }


def covered(visible: Iterable[Path]) -> list[Path]:
    """Return the folders to be covered by empty ones on a host: /home, /tmp, and the highest
    folders above visible ones that the user of the hosts could not enter."""
    closed = [
        next((above for above in reversed(path.parents) if not _may_be_entered(above)), None)
        for path in visible
    ]
    return sorted({*COVERED, *(path for path in closed if path is not None)})


def _may_be_entered(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)


def _started(
    namespaces: Iterable[str],
    script: Iterable[object],
    log: Path,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Start a script in new namespaces. Its errors go to the log."""
    words = [*_DIES_WITH_US, "unshare", *namespaces, *map(str, script)]
    with open(log, "w") as errors:
        return subprocess.Popen(
            words,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )


def _await(process: subprocess.Popen[str], line: str) -> None:
    """Read a line that a script prints. Raises RuntimeError if the script ends before."""
    output: IO[str] | None = process.stdout
    assert output is not None
    if output.readline().strip() != line:
        words = process.args if isinstance(process.args, list) else [process.args]
        raise RuntimeError(f"not {line}: {shlex.join(map(str, words))}, see its log")
