"""A reader of a page: pastes its blocks into terminals, and compares what they print with the page.

What starts a broker or a cluster goes to the broker's terminal, after Ctrl-C for what runs there;
all else goes to another terminal. A block of properties sets keys of the files that it names. One
of Python is a file of its own that is run, by pytest where it has tests.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from broker.config.properties import parse_properties
from command.cluster_layout import with_keys
from ottla.launcher import READY
from tests.newcomer.account import Account
from tests.newcomer.plan import Block, Page
from tests.newcomer.terminal import Terminal

SERVES = re.compile(r"(?:^|/)ottla (?:serve|cluster (?!kill|restart))|^make run")
RUNS_LINE = {"cluster": "the cluster is healthy"}
INSTALL_S = 900.0
SERVE_S = 120.0
SHOWN_S = 30.0
READS = re.compile(r"^(?:curl|ls|ottla (?:status|group|topic|consume|user|acl) ?)")
"""Commands that change nothing: repeated where a broker needs a moment to come to what is shown."""
AGAIN = 5
DRAWN = r"-[0-9a-f]{6}\b"
"""The suffix of a topic's name that the test kit draws."""


@dataclass(frozen=True)
class Outcome:
    """The result of a command, or of an example, that a page shows."""

    line: int
    command: str
    verdict: str
    """`equal`, `equal in part`, `ran` (the page shows no output), `explained`, `DIFFERS`."""
    detail: str = ""


class Reader:
    """Follows one page in a fresh clone, or in an empty folder beside one."""

    def __init__(self, account: Account, page: Page) -> None:
        """Open the terminals, and run what comes before the page."""
        self._account = account
        self._page = page
        clone = account.clone(Path(page.name).stem)
        self._folder = clone if page.folder == "clone" else account.folder(f"{clone.name}-empty")
        self._terminals: dict[str, Terminal] = {}
        self._values: dict[str, str] = {}
        for command in page.setup:
            for name in ("broker", "other"):
                self._setup(name, command.replace("CLONE", str(clone)))

    def follow(self) -> Iterator[Outcome]:
        """Do what each block and each aside says, and yield an outcome for each command."""
        blocks = self._page.blocks()
        for number, block in enumerate(blocks):
            yield from self._asides(block)
            below = blocks[number + 1] if number + 1 < len(blocks) else None
            follow = {
                "console": self._console,
                "properties": self._properties,
                "python": self._python,
                "toml": self._toml,
                "log": self._log,
                "text": lambda *_: (),
                "": lambda *_: (),
            }
            yield from follow[block.kind](block, below)
        yield from self._asides(None)

    def close(self) -> None:
        """Press Ctrl-C in all terminals, and close them."""
        for terminal in self._terminals.values():
            terminal.close()

    def _terminal(self, name: str) -> Terminal:
        if name not in self._terminals:
            command, environment = self._account.shell()
            self._terminals[name] = Terminal(command, environment, self._folder)
        return self._terminals[name]

    def _setup(self, name: str, command: str) -> None:
        is_for_each = re.match(r"(\.|cd|export) ", command) is not None
        if name == "broker" and not is_for_each:
            return
        printed, code = self._terminal(name).run(command, INSTALL_S)
        assert code == 0, f"{command}\n{printed}"

    def _asides(self, block: Block | None) -> Iterator[Outcome]:
        for aside in self._page.asides:
            is_here = aside.before in block.text if block and aside.before else block is None
            if is_here and not (block is None and aside.before):
                line = block.line if block else self._page.text.count("\n")
                for command in aside.commands:
                    yield self._command(line, command, [], aside.terminal)

    def _console(self, block: Block, below: Block | None) -> Iterator[Outcome]:
        """Run the commands; an unnamed block below shows what the last of them prints."""
        line = block.line
        parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
        for number, part in enumerate(parts, 1):
            lines = part.splitlines()
            count = next(i for i, text in enumerate(lines, 1) if not text.endswith("\\"))
            shown = lines[count:]
            if number == len(parts) and below is not None and not below.kind:
                shown = below.text.splitlines()
            yield self._command(line, "\n".join(lines[:count]), shown)
            line += len(lines)

    def _command(self, line: int, command: str, shown: list[str], terminal: str = "") -> Outcome:
        for as_shown, printed in self._values.items():
            command = command.replace(as_shown, printed)
        if SERVES.search(command) and not command.endswith("&"):
            verdict, detail = self._serve(command, shown, terminal or "broker")
        else:
            verdict, detail = self._run(command, shown, terminal or "other")
        if verdict == "DIFFERS":
            for row in self._page.explained:
                if row.command in command:
                    verdict, detail = "explained", row.why
        return Outcome(line, command, verdict, detail)

    def _serve(self, command: str, shown: list[str], name: str) -> tuple[str, str]:
        terminal = self._terminal(name)
        if name == "broker":
            terminal.interrupt()
        terminal.start(command)
        kind = "cluster" if "ottla cluster" in command else "serve"
        lines = [line for line in shown if line.strip()]
        seconds = INSTALL_S if command.startswith("make") else SERVE_S
        is_awaited = not any(text in command for text in self._page.waits)
        for line in lines or ([f"…{RUNS_LINE.get(kind, READY)}…"] if is_awaited else []):
            if not self._sees(terminal, line, seconds):
                return "DIFFERS", f"not printed: {line}\n{_tail(terminal.printed)}"
        return ("equal in part" if lines else "ran"), ""

    def _run(self, command: str, shown: list[str], name: str) -> tuple[str, str]:
        terminal = self._terminal(name)
        terminal.interrupt()
        for attempt in range(AGAIN if READS.match(command) else 1):
            if attempt:
                time.sleep(1)
            printed, code = terminal.run(command, INSTALL_S)
            got = [line.rstrip() for line in printed.splitlines() if line.strip()]
            wanted = [line.rstrip() for line in shown if line.strip()]
            missing = self._missing(wanted, got)
            if code == 0 and not missing:
                break
        if code == 0 and missing and command.startswith("kill "):  # its process is over there
            broker = self._terminals["broker"]
            missing = [line for line in missing if not self._sees(broker, line, SHOWN_S)]
        detail = f"{len(got) - len(wanted)} lines not shown" if len(got) > len(wanted) else ""
        detail += f" at try {attempt + 1}" if attempt else ""
        is_refusal = bool(wanted) and all(line.startswith("ottla: ") for line in wanted)
        if code != 0 and not is_refusal:  # a page may show how a command is refused
            return "DIFFERS", f"exit code {code}\n{printed}"
        if missing:
            return "DIFFERS", f"not printed: {missing}\n{printed}"
        if not wanted:
            return "ran", detail
        return ("equal" if len(got) == len(wanted) else "equal in part"), detail

    def _missing(self, wanted: list[str], printed: list[str]) -> list[str]:
        """Return the lines that are not printed, or not in this order."""
        rest = iter(printed)
        return [line for line in wanted if not any(self._is_line(line, text) for text in rest)]

    def _is_line(self, shown: str, printed: str) -> bool:
        match = re.fullmatch(self._pattern(shown), printed)
        if match is not None:
            self._keep(match)
        return match is not None

    def _sees(self, terminal: Terminal, shown: str, seconds: float) -> bool:
        match = terminal.wait_for(re.compile(self._pattern(shown)), seconds)
        if match is not None:
            self._keep(match)
        return match is not None

    def _pattern(self, shown: str) -> str:
        """Return an expression for a line: `…` is anything, a value that varies is captured."""
        text = ".*".join(re.escape(part) for part in shown.rstrip().split("…"))
        for as_shown, pattern in self._page.changes.items():
            text = text.replace(re.escape(as_shown), pattern)
        for number, (as_shown, pattern) in enumerate(self._page.varies.items()):
            if as_shown in self._values:
                text = text.replace(re.escape(as_shown), re.escape(self._values[as_shown]))
            else:
                text = text.replace(re.escape(as_shown), f"(?P<v{number}>{pattern})", 1)
        return re.sub(DRAWN, lambda _: r"-[0-9a-f]{6}", text.replace(r"\-", "-"))

    def _keep(self, match: re.Match[str]) -> None:
        names = list(self._page.varies)
        for group, value in match.groupdict().items():
            self._values[names[int(group[1:])]] = value

    def _properties(self, block: Block, _: Block | None) -> Iterator[Outcome]:
        files = re.findall(r"# (/\S+)\n((?:(?!# /).*\n)*)", block.text)
        for name, keys in files:
            file = Path(name)
            before = file.read_text() if file.exists() else ""
            text = with_keys(before, parse_properties(keys)) if before else keys
            self._account.write(file, text)
        if files:
            yield Outcome(block.line, f"write {' '.join(name for name, _ in files)}", "ran")

    def _toml(self, block: Block, _: Block | None) -> Iterator[Outcome]:
        self._account.write(self._cwd() / "pyproject.toml", block.text)
        yield Outcome(block.line, "write pyproject.toml", "ran")

    def _python(self, block: Block, below: Block | None) -> Iterator[Outcome]:
        named = re.match(r"# (\S+\.py)\n", block.text)
        is_test = "def test_" in block.text
        name = named[1] if named else f"{'test' if is_test else 'example'}_{block.line}.py"
        self._account.write(self._cwd() / name, block.text)
        if named:
            yield Outcome(block.line, f"write {name}", "ran")
        elif is_test:
            yield self._tests(block, name, below)
        else:
            rows = [row for row in self._page.printed if row.of in block.text]
            shown = [line for row in rows for line in row.lines]
            yield self._command(block.line, f"python {name}", shown)

    def _tests(self, block: Block, name: str, below: Block | None) -> Outcome:
        """Run a module of tests; one with a `text` block below fails with its messages."""
        if below is None or below.kind != "text":
            return self._command(block.line, f"pytest -q {name}", ["…passed…"])
        command = f"pytest -q --tb=short {name}; test $? = 1"
        return self._command(block.line, command, [f"…{line}" for line in below.text.splitlines()])

    def _log(self, block: Block, _: Block | None) -> Iterator[Outcome]:
        broker = self._terminals["broker"]
        for number, line in enumerate(block.text.splitlines()):
            is_there = any(self._is_line(f"…{line}", text) for text in broker.printed.splitlines())
            verdict = "equal" if is_there or self._sees(broker, f"…{line}", SHOWN_S) else "DIFFERS"
            yield Outcome(block.line + number, f"log: {shlex.quote(line)}", verdict)

    def _cwd(self) -> Path:
        printed, _ = self._terminal("other").run("pwd")
        return Path(printed.strip())


def _tail(text: str) -> str:
    return "\n".join(text.splitlines()[-15:])
