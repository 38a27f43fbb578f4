"""The release of Apache Kafka before the reference is named in listed files only.

So a new reference needs no search: everything else means `tests/tools/kafka_release.py`.
"""

from __future__ import annotations

import re

from tests.architecture.sources import ROOT
from tests.architecture.tracked_files import tracked
from tests.tools.kafka_release import PREVIOUS

TEXTS = (".py", ".md", ".toml", ".xml", ".yml", ".properties", ".java", ".sh", "Makefile")
NAMING = {
    "CHANGELOG.md": "what an earlier Ottla was compared with",
    "README.md": "measured figures",
    "bench/LESSONS.md": "measured figures",
    "broker/groups/consumer/state/records.py": "from when on a field is written",
    "client/migration/cluster_state.py": "the oldest release that can be migrated",
    "command/migration/migrate_command.py": "the oldest release that can be migrated",
    "docs/command-line.md": "the oldest release that can be migrated",
    "docs/compatibility.md": "what has changed since, and folders and clusters that were tried",
    "docs/migration.md": "the oldest release that can be migrated",
    "docs/performance.md": "measured figures",
    "tests/chaos/README.md": "measured figures",
    "tests/conformance/other_releases.py": "folders and clusters that were tried",
    "tests/kafkatest/README.md": "test programs that have no newer jars",
    "tests/kafkatest/pom.xml": "test programs that have no newer jars",
    "tests/tools/kafka_release.py": "the place of the name",
}
"""The files that name that release, each with the reason."""


def test_only_these_files_name_the_release_before() -> None:
    number = PREVIOUS.rpartition(".")[0]
    # Not a part of another number, nor the name of a level of metadata.version.
    name = re.compile(rf"(?<![\d.]){re.escape(number)}(?![\d]|-IV)")
    texts = [path for path in tracked() if path.endswith(TEXTS)]
    assert [path for path in texts if name.search((ROOT / path).read_text())] == sorted(NAMING)
