from __future__ import annotations

from storage.log.recovery_report import RecoveryReport


def test_one_line_says_all() -> None:
    report = RecoveryReport(segments_scanned=1)
    assert report.line(9) == "", "a scan that found nothing"
    report.notes.append("index of segment 0 rebuilt")
    report.lost(3, 7, "segment 0")
    report.bytes_cut = 12
    assert report.line(9) == (
        "cut off 12 bytes, removed 0 segment(s); log end offset 9; index of segment 0 rebuilt; "
        "segment 0 lacks the offsets 3 to 6: they are lost"
    )
