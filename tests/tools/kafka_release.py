"""The releases of Apache Kafka that Ottla is compared with; no other file names them.

The jars come from `tests/java/pom.xml`, and recordings in `tests/golden/` and
`tests/authorization/` are of `RELEASE`. docs/new-kafka.md has the steps to the next release.
"""

from __future__ import annotations

RELEASE = "4.4.0"
"""The reference: its answers are the right ones."""
PREVIOUS = "4.3.0"
"""The release before, for folders and clusters that are upgraded, and `--peer-version`."""
BY_NUMBER = {release.rpartition(".")[0]: release for release in (RELEASE, PREVIOUS)}
"""The releases by their numbers without a patch level, as `--peer-version` takes them."""
