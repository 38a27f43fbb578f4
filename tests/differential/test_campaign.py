"""The reports of campaigns side by side add up to one."""

from __future__ import annotations

from collections import Counter

from tests.differential.campaign import Finding, Report
from tests.differential.comparison import Difference
from tests.differential.pair import UnexplainedDifference
from tests.differential.sequence import Sequence, Step


def test_reports_of_campaigns_side_by_side_add_up() -> None:
    step = Step("METADATA", 5, {})
    difference = UnexplainedDifference(step, 0, Difference("topics", 1, 2))
    sequence = Sequence("short", [step])
    whole = Report(sequences=3, seconds=5.0, rows=Counter(a=1))
    whole.add(Report(2, 7.0, Counter({("METADATA", 5): 4}), Counter(a=2, b=1)))
    for times in (1, 4):
        finding = Finding(difference, sequence, times)
        whole.add(Report(findings={difference.signature: finding}, not_again=["once"]))
    assert (whole.sequences, whole.seconds) == (5, 7.0)
    assert whole.asked == {("METADATA", 5): 4}
    assert whole.rows == {"a": 3, "b": 1}
    assert whole.not_again == ["once", "once"]
    [finding] = whole.findings.values()
    assert finding.times == 5
