"""A fresh user account: a home with clones, and no setting of the account that runs this.

Needs root. Kafka's tools are on the account's path, as scripts; /etc/ottla belongs to the account.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path

import psutil

from tests.tools.java_tools import QUICK_JVM, TOOLS, kafka_classpath

ROOT = Path(__file__).resolve().parents[2]
USER = "ottla-newcomer"
PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OF_THE_MACHINE = ("PIP_", "SSL_CERT", "REQUESTS_CA", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
"""Variables that begin so say how this machine reaches the package index."""
CONFIG_FOLDER = Path("/etc/ottla")


class Account:
    """A user that has never seen Ottla."""

    def __init__(self) -> None:
        """Make the account. CalledProcessError where there is one of this name already."""
        subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", USER], check=True)
        self.home = Path(pwd.getpwnam(USER).pw_dir)
        self._tools = self.home / "kafka"

    @staticmethod
    def exists() -> bool:
        """Return whether there is a user of this name: an earlier run was killed."""
        return any(user.pw_name == USER for user in pwd.getpwall())

    def prepare(self) -> None:
        """Give the account Kafka's tools and the folder /etc/ottla."""
        CONFIG_FOLDER.mkdir()
        self._own(CONFIG_FOLDER)
        self._install_tools()

    def shell(self) -> tuple[list[str], dict[str, str]]:
        """Return the command of a shell of this account, and its environment."""
        environment = {
            "HOME": str(self.home),
            "PATH": f"{self._tools / 'bin'}:{PATHS}",
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "PS1": "$ ",
            **{k: v for k, v in os.environ.items() if k.upper().startswith(OF_THE_MACHINE)},
        }
        login = ["setpriv", "--reuid", USER, "--regid", USER, "--init-groups"]
        return [*login, "bash", "--norc", "--noprofile", "-i"], environment

    def clone(self, name: str) -> Path:
        """Return the folder of a new clone of the commit that is checked out here."""
        folder = self.home / name
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
        self._own(folder)
        return folder

    def folder(self, name: str) -> Path:
        """Return a new, empty folder in the account's home."""
        made = self.home / name
        made.mkdir()
        self._own(made)
        return made

    def write(self, file: Path, text: str) -> None:
        """Write a file as the account would in its editor."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self._own(file.parent)

    def remove(self) -> None:
        """End the account's processes, and delete the account with its home and /etc/ottla."""
        while processes := [p for p in psutil.process_iter(["username"]) if self._is_own(p)]:
            for process in processes:
                process.kill()
            psutil.wait_procs(processes, timeout=10)
        subprocess.run(["userdel", "--remove", USER], check=True, stderr=subprocess.DEVNULL)
        shutil.rmtree(CONFIG_FOLDER)

    @staticmethod
    def _is_own(process: psutil.Process) -> bool:
        return bool(process.info["username"] == USER)

    def _install_tools(self) -> None:
        jars = self._tools / "libs"
        jars.mkdir(parents=True)
        for jar in Path(kafka_classpath()).parent.glob("*.jar"):
            shutil.copy(jar, jars)
        for name, of_class in TOOLS.items():
            java = ["exec java", *QUICK_JVM, "-cp", f"'{jars}/*'", of_class, '"$@"']
            script = self._tools / "bin" / name
            script.parent.mkdir(exist_ok=True)
            script.write_text(f"#!/bin/sh\n{' '.join(java)}\n")
            script.chmod(0o755)
        self._own(self._tools)

    def _own(self, folder: Path) -> None:
        subprocess.run(["chown", "-R", f"{USER}:{USER}", str(folder)], check=True)
