"""What only Linux has is asked for in few places, each of which has a way beside it.

Of a module of `linux_names.NAMES` such a name is used in its home alone, as an attribute, by an
import or as the text of a `getattr`; `/proc`, functions of Linux' C library and `sys.platform`
likewise. `mypy --platform darwin` (`make test-portable`) holds it for all that typeshed knows.
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
"""What macOS has in another form, or alone."""
LINUX = {
    module: {*names.split(), *ELSEWHERE_ANOTHER.get(module, ())} for module, names in NAMES.items()
}
TEXTS = set().union(*LINUX.values(), C_FUNCTIONS) - {"splice"}  # a word of its own here
HOMES = {
    "ground/platform_calls.py": {
        "F_FULLFSYNC",
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
    """What of Linux a file uses; `proc` and `platform` for where it looks."""
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
                yield from (one.name for one in names if one.name in LINUX.get(module, ()))
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
    looked_at = [path for path in sources() if WORTH_A_LOOK.search(path.read_text())]
    found = {relative(path): set(asked_for(nodes(path))) for path in looked_at}
    assert {path: names for path, names in found.items() if names} == HOMES


def test_no_name_has_two_homes() -> None:
    names = [name for of_one in HOMES.values() for name in of_one - {"proc", "platform"}]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("node_id", SKIPPED)
def test_what_is_skipped_exists(node_id: str) -> None:
    path, _, name = node_id.partition("::")
    functions = ast.walk(ast.parse((ROOT / Path(path)).read_text()))
    assert name in [getattr(one, "name", None) for one in functions]
