"""The project's own files, for the tests of this folder. Reads names and texts only."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

from tests.tools.packages import WITHOUT_SPARK

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = WITHOUT_SPARK
PIPELINE = "pipeline"
GENERATED = ROOT / "protocol" / "messages"

# The shell: the only files that use the event loop, threads, sockets, files or the clock. The
# contract "cores" in pyproject.toml lists what each may import.
SHELL = (
    "command/__main__.py",
    "broker/process/cleaner_process.py",
    "client/connection.py",
    "command/admin/profile_command.py",
    "client/profiles.py",
    "command/admin/user_command.py",
    "command/cli.py",
    "client/cluster.py",
    "command/groups/group_command.py",
    "command/live/top_command.py",
    "command/records/consume_command.py",
    "command/records/produce_command.py",
    "command/records/share_printing.py",
    "command/terminal/live_screen.py",
    "client/records/reading.py",
    "client/records/writing.py",
    "command/cluster_certificates.py",
    "command/cluster_command.py",
    "command/console_process.py",
    "command/dump/dump_command.py",
    "command/dump/files.py",
    "command/members/free_ports.py",
    "command/members/local_cluster.py",
    "command/nodes/running.py",
    "command/cluster_credentials.py",
    "command/cluster_folder.py",
    "broker/config/file.py",
    "broker/process/data_folders.py",
    "broker/process/descriptor_limit.py",
    "broker/process/formatting.py",
    "broker/process/logging_setup.py",
    "broker/process/metrics_server.py",
    "broker/process/node_sockets.py",
    "broker/process/port_holder.py",
    "broker/network/server/acceptor.py",
    "broker/network/outgoing/blocking_client.py",
    "broker/network/server/busy_poll.py",
    "broker/network/server/connection.py",
    "broker/network/server/delayed_closes.py",
    "broker/network/file_send.py",
    "broker/network/file_slice.py",
    "broker/network/server/frame_buffer.py",
    "broker/network/server/handshakes.py",
    "broker/network/server/listening_socket.py",
    "broker/network/server/local_congestion.py",
    "broker/network/limits/memory_limit.py",
    "broker/network/outgoing/network_client.py",
    "broker/network/server/network_parts.py",
    "broker/network/server/processor.py",
    "broker/network/socket_calls.py",
    "broker/network/server/socket_server.py",
    "broker/node/preparation/first_voters.py",
    "broker/loop/scheduler.py",
    "broker/security/sasl/oauthbearer/endpoint.py",
    "broker/security/tls/contexts.py",
    "broker/security/tls/stores.py",
    "broker/process/server.py",
    "broker/loop/loop_watch.py",
    "broker/process/standard_streams.py",
    "broker/process/trace_socket.py",
    "broker/loop/turn_hook.py",
    "testbed/",
    "console/",
    "command/status_command.py",
    "log_format/files.py",
    "ottla/",
    "protocol/generate.py",
    "storage/cleaning/cleaner_worker.py",
    "ground/filesystem.py",
    "ground/platform_calls.py",
)


def relative(path: Path) -> str:
    """Return a path as the documents write it."""
    return path.relative_to(ROOT).as_posix()


def sources(*, generated: bool = False) -> list[Path]:
    """Return every Python file of the packages; generated files only if `generated`."""
    folders = (*PACKAGES, PIPELINE)
    return [
        path
        for folder in folders
        if (ROOT / folder).is_dir()
        for path in sorted((ROOT / folder).rglob("*.py"))
        if generated or not _is_generated(path)
    ]


def cores() -> list[Path]:
    """Return the sources that do no I/O."""
    return [path for path in sources() if not relative(path).startswith((*SHELL, f"{PIPELINE}/"))]


def not_shipped() -> list[Path]:
    """Return every Python file that is not shipped."""
    folders = [ROOT / name for name in ("tests", "bench")]
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


def scripts() -> list[Path]:
    """Return every JavaScript file of ours, with its tests, without vendored files."""
    folders = [ROOT / "console" / "static", ROOT / "tests" / "unit" / "console" / "static"]
    files = [path for folder in folders for path in sorted(folder.rglob("*.js"))]
    return [path for path in files if path.parent.name != "vendor"]


@cache
def tree(path: Path) -> ast.Module:
    """Return the parsed file. Its nodes stay: the garbage collector need not examine them."""
    gc.disable()
    try:
        return ast.parse(path.read_text(), str(path))
    finally:
        gc.freeze()
        gc.enable()


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return every node of the parsed file. A dozen tests read each file, which is walked once."""
    return tuple(ast.walk(tree(path)))


@cache
def functions(path: Path) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
    """Return every function and method of a file, nested ones too."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return tuple(node for node in nodes(path) if isinstance(node, kinds))


def _is_generated(path: Path) -> bool:
    return GENERATED in path.parents and path.name != "__init__.py"
