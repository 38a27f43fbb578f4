"""The bench's C programs: what a compiler leaves behind is not left in the user's folders."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

import bench.compiled
from bench.compiled import compiled


def test_a_compiler_that_is_ended_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, scratch = tmp_path / "programs", tmp_path / "scratch"
    programs.mkdir()
    scratch.mkdir()
    (programs / "cc").write_text('#!/bin/sh\n: > "$TMPDIR/half.s"\nexit 1\n')
    (programs / "cc").chmod(0o755)
    source = tmp_path / "some.c"
    source.write_text("int main(void) { return 0; }\n")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(bench.compiled, "CACHE_DIR", tmp_path / "cache")
    with pytest.raises(RuntimeError, match=r"cc refuses some\.c"):
        compiled(source)
    assert list(scratch.iterdir()) == []
    assert list((tmp_path / "cache" / "bench").iterdir()) == []
