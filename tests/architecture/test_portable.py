"""Few files use features that only Linux has, and each of them has an alternative.

Only the home of a name in `linux_names.NAMES` may use it: as an attribute, in an import or as the
text of a `getattr`. The same holds for `/proc`, functions of Linux' C library and `sys.platform`.
`mypy --platform darwin` (`make test-portable`) checks all names that typeshed has.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, nodes, relative, sources
from tests.portable.linux_names import C_FUNCTIONS, NAMES
from tests.portable.skipped import SKIPPED

ELSEWHERE_ANOTHER = {"fcntl": {"F_FULLFSYNC"}, "os": {"sendfile"}}
"""Names that macOS has in another form, or that only macOS has."""
LINUX = {
    module: {*names.split(), *ELSEWHERE_ANOTHER.get(module, ())} for module, names in NAMES.items()
}
TEXTS = set().union(*LINUX.values(), C_FUNCTIONS) - {"splice"}  # an ordinary word in this code
HOMES = {
    "ground/platform_calls.py": {
        "F_FULLFSYNC",
        "F_OFD_SETLK",
        "POSIX_FADV_WILLNEED",
        "RWF_NOWAIT",
        "fallocate",
        "fdatasync",
        "memfd_create",
        "posix_fadvise",
        "preadv",
        "proc",
        "pwritev",
        "sync_file_range",
    },
    "broker/network/socket_calls.py": {
        "MSG_MORE",
        "TCP_CONGESTION",
        "proc",
        "pthread_getcpuclockid",
        "sendfile",
    },
    "broker/network/limits/memory_limit.py": {"proc"},
    "broker/process/port_holder.py": {"proc"},
    "testbed/parent_death.py": {"platform", "prctl"},
    "ottla/testing/host.py": {"platform"},
    "ottla/testing/ports.py": {"platform"},
}


WORTH_A_LOOK = re.compile(
    r"\b(proc|platform|" + "|".join(set().union(*LINUX.values(), TEXTS)) + r")\b"
)


def asked_for(text: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the Linux features in a file; `proc` for /proc, `platform` for `sys.platform`."""
    for node in text:
        match node:
            case ast.Attribute(value=ast.Name(id="sys"), attr="platform"):
                yield "platform"
            case ast.Attribute(attr="prctl"):
                yield "prctl"
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                if name in LINUX.get(module, ()):
                    yield name
            case ast.ImportFrom(module=str(module), names=names):
                yield from (alias.name for alias in names if alias.name in LINUX.get(module, ()))
            case ast.Constant(value=str(value)):
                if value in TEXTS:
                    yield value
                elif "\n" not in value and value.lstrip("/").split("/")[0] == "proc":
                    yield "proc"


@pytest.mark.parametrize(
    "source",
    [
        "os.fdatasync(3)",
        "from socket import MSG_MORE",
        "getattr(os, 'preadv')",
        "open('/proc/meminfo')",
        "libc.prctl(1)",
        "x = sys.platform",
    ],
)
def test_each_way_to_ask_is_seen(source: str) -> None:
    assert list(asked_for(ast.walk(ast.parse(source))))


def test_what_only_linux_has_is_asked_for_at_home_alone() -> None:
    candidates = [path for path in sources() if WORTH_A_LOOK.search(path.read_text())]
    used = {relative(path): set(asked_for(nodes(path))) for path in candidates}
    assert {path: names for path, names in used.items() if names} == HOMES


def test_no_name_has_two_homes() -> None:
    names = [name for of_one in HOMES.values() for name in of_one - {"proc", "platform"}]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("node_id", SKIPPED)
def test_what_is_skipped_exists(node_id: str) -> None:
    path, _, name = node_id.partition("::")
    functions = ast.walk(ast.parse((ROOT / Path(path)).read_text()))
    assert name in [getattr(node, "name", None) for node in functions]
