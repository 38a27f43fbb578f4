"""The command line: help a newcomer can follow, one line for what is wrong, no traceback."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from broker.config.endpoints import EndPoint
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from command.cli import run_cli
from controller.metadata.acl import Acl
from controller.metadata.snapshot import acl_record
from controller.storage_format import encode_bootstrap
from protocol.messages.metadata_records import UserScramCredentialRecord
from protocol.primitives import StringTooLong

Run = Callable[..., None]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], None]:
    """Put `run` in the place of the real server."""

    def install(run: Run) -> None:
        stand_in = ModuleType("broker.process.server")
        stand_in.run = run  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "broker.process.server", stand_in)

    return install


def refused(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run_cli(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[-1].startswith("ottla: ")
    assert all(line.startswith("ottla: ") for line in lines)
    return lines[-1].removeprefix("ottla: ")


def test_help_names_every_command_and_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--help"], ["-h"]):
        assert run_cli(arguments) == 0
        out = capsys.readouterr().out
        for word in ("serve", "format", "dump-log", "--version", "localhost:9092"):
            assert word in out
    assert run_cli(["serve", "--help"]) == 0
    assert "--override KEY=VALUE" in capsys.readouterr().out


def test_serve_hands_over_and_says_where_it_listens(
    server: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[BrokerConfig] = []

    def run(
        config: BrokerConfig,
        *,
        on_ready: Callable[[Sequence[EndPoint]], None],
        on_stopping: Callable[[], None],
        on_found: Callable[[int, int], None],
        cluster_id: str | None,
    ) -> None:
        seen.append(config)
        on_found(3, 1_234_567)
        at = ("localhost", 9092), ("::1", 9094)
        on_ready([EndPoint("PLAINTEXT", "PLAINTEXT", host, port) for host, port in at])
        on_stopping()

    server(run)
    assert run_cli(["serve", "--override", "num.io.threads=3"]) == 0
    assert seen[0].num_io_threads == 3
    captured = capsys.readouterr()
    assert captured.out == (
        "ottla: ./data has 3 topics, 1.2 MB\n"
        "ottla: node 1 is ready: connect to localhost:9092, [::1]:9094 (press Ctrl-C to stop)\n"
        "ottla: node 1 is stopping\n"
        "ottla: node 1 stopped; its data stays in ./data\n"
    )
    assert captured.err == (
        "ottla: no --config: using the single-node profile (node 1, data in ./data)\n"
    )


def test_serve_also_prints_the_lines_of_kafka_that_other_programs_wait_for(
    server: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint = EndPoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092)
    server(lambda _config, *, on_ready, **_: on_ready([endpoint]))
    assert run_cli(["serve", "--kafka-log-lines"]) == 0
    _, unfenced, started, _ = capsys.readouterr().out.splitlines()
    assert re.fullmatch(".*Transitioning from RECOVERY to RUNNING.*", unfenced)
    assert re.fullmatch(".*Kafka Server started.*", started)
    assert run_cli(["serve"]) == 0
    assert "Kafka Server" not in capsys.readouterr().out


def test_serve_on_a_port_with_its_data_elsewhere(server: Callable[[Run], None]) -> None:
    seen: list[BrokerConfig] = []
    server(lambda config, **_: seen.append(config))
    assert run_cli(["serve", "--port", "19092", "--data", "second"]) == 0
    (config,) = seen
    assert [(one.host, one.port) for one in config.broker_listeners] == [("localhost", 19092)]
    assert config.log_dirs == ("second",)


def test_serve_from_a_file_with_overrides_and_warnings(
    server: Callable[[Run], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[BrokerConfig] = []
    server(lambda config, **_: seen.append(config))
    file = tmp_path / "server.properties"
    file.write_text(
        "node.id=4\nprocess.roles=broker,controller\ncontroller.quorum.voters=4@localhost:9093\n"
        "controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://:9092,CONTROLLER://:9093\n"
        "num.partitions=3\ntelemetry.max.bytes=7\n"
    )
    assert run_cli(["serve", "--config", str(file), "--override", "num.partitions=5"]) == 0
    assert (seen[0].node_id, seen[0].num_partitions, seen[0].profile_name) == (4, 5, None)
    err = capsys.readouterr().err
    assert err.startswith("ottla: warning: telemetry.max.bytes=7") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["serve", "--override", "num.io.thread=3"], "did you mean num.io.threads?"),
        (["serve", "--override", "num.io.threads=0"], "configuration num.io.threads: Value must"),
        (["serve", "--override", "nonsense"], "write it as key=value"),
        (["serve", "--override", "authorizer.class.name=a.B"], "Java classes cannot be loaded"),
        (
            ["serve", "--config", "/no/such/file"],
            "directory (ottla config example prints such",
        ),
        (["serve", "extra"], "extra"),
        (["serve", "--port", "99999"], "99999 is not in the range"),
        (["serve", "--port", "1", "--config", "x"], "--port goes without a file: x says where"),
        (["serve", "--port", "1", "--override", "listeners=x"], "leave one out"),
        (["serve", "--data", "a", "--override", "log.dir=x"], "--data and --override log.dirs"),
        (["serve", "--data", "a,b"], "name one folder"),
        (["serve", "--allow-writes"], "--allow-writes is about the page of --console: name both"),
        (["serve", "--registry", "http://r"], "--registry is about the page of --console: name"),
        (["fly"], "No such command 'fly'"),
        (["--fly"], "No such option"),
        (
            ["topic", "create", "t", "-p", "x"],
            "'x' is not a whole number. (see: ottla",
        ),
        (["topic", "create", "t", "-p", "9999999999"], "is not in the range 1 to 2147483647"),
        (["top", "--interval", "x"], "'x' is not a number."),
        (["top", "--interval", "nan"], "--interval nan: give a number of seconds"),
        (["top", "--interval", "1e400"], "inf is not in the range 0.1 to 86400"),
        (["cluster", "--brokers", "x"], "'x' is not a whole number."),
        (["produce", "t", "-H"], "requires an argument. (see: ottla produce --help)"),
        (["dump-log", "/no/such/file"], "/no/such/file: No such file"),
        (["dump-log"], "Missing argument 'PATH..."),
        (["dump-log", __file__], "dump-log cannot read 'test_cli.py': expected .log"),
    ],
)
def test_what_is_wrong_is_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in refused(arguments, capsys)


def test_a_line_of_the_file_is_named_with_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("node.id=one\n")
    line = refused(["serve", "--config", str(file)], capsys)
    assert line.startswith(f"{file}: line 1: Invalid value one for configuration node.id")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (StartError("port 9092 is taken"), "port 9092 is taken"),
        (OSError(98, "Address already in use"), "Address already in use"),
        (PermissionError(13, "Permission denied", "/var/x"), "/var/x: Permission denied"),
        (StringTooLong(40_000), "a string of 40000 bytes is too long: at most 32767"),
    ],
)
def test_a_start_that_fails_is_one_line(
    error: Exception,
    says: str,
    server: Callable[[Run], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(config: BrokerConfig, **_: object) -> None:
        raise error

    server(run)
    assert refused(["serve"], capsys) == says


def test_serve_formats_with_the_cluster_id_that_the_environment_gives(
    server: Callable[[Run], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A container has no command line of its own: OTTLA_CONFIG and OTTLA_CLUSTER_ID say it."""
    did: list[object] = []
    server(lambda config, cluster_id, **_: did.append((config.node_id, cluster_id)))
    file = tmp_path / "seven.properties"
    file.write_text(
        "node.id=7\nprocess.roles=broker,controller\ncontroller.listener.names=C\n"
        "listeners=PLAINTEXT://localhost:9092,C://localhost:9093\n"
        "controller.quorum.voters=7@localhost:9093\n"
    )
    monkeypatch.setenv("OTTLA_CONFIG", str(file))
    monkeypatch.setenv("OTTLA_CLUSTER_ID", "AAAAAAAAAAAAAAAAAAAAAQ")
    assert run_cli(["serve"]) == 0
    assert did == [(7, "AAAAAAAAAAAAAAAAAAAAAQ")]


def test_dump_log_does_not_show_scram_credentials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = UserScramCredentialRecord("alice", 1, b"salty", b"stored", b"server", 4096)
    file = tmp_path / "bootstrap.checkpoint"
    file.write_bytes(encode_bootstrap({"metadata.version": 30}, 1, [record]))
    assert run_cli(["dump-log", str(file), "--records"]) == 0
    printed = capsys.readouterr().out
    assert "UserScramCredentialRecord name: alice mechanism: SCRAM-SHA-256" in printed
    for secret in (record.salt, record.stored_key, record.server_key):
        assert secret.decode() not in printed
        assert secret.hex() not in printed


def test_dump_log_shows_acls_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = acl_record(bytes(range(16)), Acl(2, "orders", 4, "User:alice", "*", 3, 2))
    file = tmp_path / "00000000000000000000.checkpoint"
    file.write_bytes(encode_bootstrap({"metadata.version": 30}, 1, [record]))
    assert run_cli(["dump-log", str(file), "--records"]) == 0
    words = "id: AAECAwQFBgcICQoLDA0ODw DENY READ for User:alice from * on TOPIC:PREFIXED:orders"
    assert f"AccessControlEntryRecord {words}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--help"], ["topic", "--help"], ["config", "example"]])
def test_a_reader_may_leave_before_the_end(arguments: list[str]) -> None:
    """A command whose output nobody reads, as in `ottla --help | head -0`, ends with 0."""
    code = f"from command.cli import run_cli; import sys; sys.exit(run_cli({arguments}))"
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as nobody_reads:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, stdout=nobody_reads, stderr=subprocess.PIPE
        )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("no_color", "term", "stands_out"),
    [("", "xterm", True), ("1", "xterm", False), ("", "dumb", False)],
)
def test_colours_are_for_terminals_that_want_them(
    no_color: str, term: str, stands_out: bool
) -> None:
    """Not in a pipe, as the tests of each command show, nor with NO_COLOR or TERM=dumb."""
    main, side = pty.openpty()
    code = "from command.cli import run_cli; run_cli(['config', 'explain', 'retention.ms'])"
    env = {**os.environ, "NO_COLOR": no_color, "TERM": term}
    with os.fdopen(main, "rb", buffering=0) as screen:
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, stdout=side, check=True)
        os.close(side)
        shown = screen.read(4096).decode()
    assert "retention.ms" in shown and ("\x1b[1m" in shown) is stands_out
