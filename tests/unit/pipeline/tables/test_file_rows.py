"""The first lines of files of CSV."""

from __future__ import annotations

from pathlib import Path

import pytest


def test_the_first_lines_of_files_of_csv_are_the_same(tmp_path: Path) -> None:
    from pipeline.errors import PipelineError
    from pipeline.tables.file_rows import check_heads

    (tmp_path / "a.csv").write_text("\ufeffid,n\n1,2\n", "utf-8")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "z.csv.gz").write_bytes(b"\x1f\x8b")
    check_heads(str(tmp_path), ["id"])
    check_heads("s3a://bucket/x", ["id"])
    with pytest.raises(PipelineError, match="no column x in these files: they have id, n"):
        check_heads(str(tmp_path / "*.csv"), ["x"])
    (tmp_path / "b.csv").write_text("n,id\n2,1\n")
    with pytest.raises(PipelineError, match="b.csv has other columns"):
        check_heads(f"file://{tmp_path}/*.csv", [])
