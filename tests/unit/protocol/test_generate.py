from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from protocol import generate


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The messages of a copy of `protocol/`, which the generator works on."""
    for name in ("definitions", "messages"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(generate.HERE / name, tmp_path / name, ignore=ignored)
    monkeypatch.setattr(generate, "HERE", tmp_path)
    return tmp_path / "messages"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["protocol.generate", *arguments])
    return generate.main()


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.glob("*.py")}


def test_the_committed_modules_are_what_the_generator_writes() -> None:
    committed, generated = contents(generate.HERE / "messages"), generate.modules()
    assert sorted(committed) == sorted(["__init__.py", *generated])
    assert [name for name in generated if generated[name] != committed[name]] == []


def test_a_module_an_api_one_a_family_and_one_of_headers() -> None:
    names = generate.modules()
    assert {"produce.py", "api_versions.py", "headers.py", "group_records.py"} <= set(names)
    assert "class ProduceRequest(SlicedMessage)" in names["produce.py"]
    assert "RESPONSE = ProduceResponse" in names["produce.py"]


def test_check_has_nothing_to_say_of_what_is_right(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--check") == 0
    assert capsys.readouterr().out == ""


def test_check_names_what_differs_and_writes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "fetch.py").write_text("# edited by hand\n")
    (folder / "produce.py").unlink()
    (folder / "stray.py").write_text("")
    before = contents(folder)
    assert run(monkeypatch, "--check") == 1
    said = capsys.readouterr().out
    assert "fetch.py" in said
    assert "produce.py" in said
    assert "stray.py" in said
    assert "list_offsets.py" not in said
    assert "run python -m protocol.generate" in said
    assert contents(folder) == before


def test_without_check_it_writes_what_differs_and_removes_what_is_too_much(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(folder)
    (folder / "fetch.py").write_text("# edited by hand\n")
    (folder / "produce.py").unlink()
    (folder / "stray.py").write_text("")
    assert run(monkeypatch) == 0
    assert contents(folder) == before


def test_a_changed_definition_is_noticed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    definitions = folder.parent / "definitions" / "requests.json"
    text = definitions.read_text()
    assert '"HeartbeatRequest"' in text
    definitions.write_text(text.replace('"GenerationId"', '"GenerationIdentifier"'))
    assert run(monkeypatch, "--check") == 1
    assert "heartbeat.py" in capsys.readouterr().out
