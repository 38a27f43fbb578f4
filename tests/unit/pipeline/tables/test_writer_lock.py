"""One process at a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import PipelineError
from pipeline.tables.writer_lock import hold


def test_a_second_one_is_refused_until_the_first_has_gone(tmp_path: Path) -> None:
    first = hold(str(tmp_path / "cp"))
    assert first is not None
    with pytest.raises(PipelineError, match="cp: another stream job is at work on this checkpoint"):
        hold(f"file://{tmp_path}/cp")
    first.close()
    second = hold(str(tmp_path / "cp"))
    assert second is not None
    second.close()


def test_other_file_systems_have_no_such_lock() -> None:
    assert hold("s3a://bucket/cp") is None
