#!/usr/bin/env python3
"""The commands `jcmd` and `jps` of the hosts, without a JVM, which the tests call 20 times a case.

Each prints a line for each process of Java on the host, and for each node of Ottla, which it calls
`kafka.Kafka`, the class by which the tests find brokers. With other arguments it starts the JDK's
command. It runs on a host, where the project's modules are not, so it uses the standard library
only.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

WITH_VALUE = frozenset(
    ("-cp", "-classpath", "--class-path", "-jar", "--add-opens", "--add-exports", "--module-path")
)
"""The options of `java` that have their value in the next word."""
LISTING = frozenset(("-l", "-m", "-lm", "-q"))


def shown(words: list[str]) -> list[str]:
    """Return the class and the arguments of a process's command line, empty if not to be shown."""
    if not words:
        return []
    if Path(words[0]).name == "java":
        place = 1
        while place < len(words) and words[place].startswith("-"):
            place += 2 if words[place] in WITH_VALUE else 1
        return words[place:]
    if "serve" in words and "--config" in words and any("ottla" in word for word in words):
        return ["kafka.Kafka", words[words.index("--config") + 1]]
    return []


def processes() -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the command line of each process of the host, without zombies."""
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        yield pid, command.decode(errors="replace").split("\0")[:-1]


def main() -> None:
    """Print the processes in the form of the command by whose name this file is called."""
    name = Path(sys.argv[0]).name
    if not LISTING.issuperset(sys.argv[1:]):
        own = Path(sys.argv[0]).parent
        places = [place for place in os.get_exec_path() if Path(place) != own]
        program = shutil.which(name, path=":".join(places)) or name
        os.execv(program, sys.argv)
    for pid, words in processes():
        if parts := shown(words):
            print(pid, parts[0].rsplit(".", 1)[-1] if name == "jps" else " ".join(parts))


if __name__ == "__main__":
    main()
