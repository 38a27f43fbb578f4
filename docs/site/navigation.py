"""The pages of the site, in the order of its navigation: paths from the root, without `.md`."""

from __future__ import annotations

HOME = "docs/index"

NAVIGATION: dict[str, tuple[str, ...]] = {
    "Use it": (
        "docs/first-minute",
        "docs/testing",
        "docs/command-line",
        "docs/console",
        "docs/security",
        "docs/operations",
        "docs/docker",
        "docs/dashboards",
        "docs/pipeline",
        "setup-ottla/README",
    ),
    "Beside Apache Kafka": (
        "docs/migration",
        "docs/differences",
        "docs/compatibility",
        "docs/groups",
        "docs/queues",
        "docs/performance",
    ),
    "How it works": (
        "docs/how-it-works",
        "docs/concepts",
        "ARCHITECTURE",
        "docs/walks",
    ),
    "The project": (
        "CONTRIBUTING",
        "CHANGELOG",
        "docs/releases",
        "docs/new-kafka",
        "SECURITY",
        "bench/README",
        "bench/LESSONS",
        "tests/chaos/README",
        "tests/golden/README",
        "tests/kafkatest/README",
        "tests/simulation/README",
    ),
}


def pages() -> list[str]:
    """Every page of the site, its home first."""
    return [HOME, *(page for section in NAVIGATION.values() for page in section)]


def toctrees() -> str:
    """What Sphinx builds the navigation from, as Markdown that only the site sees."""
    sections = (
        f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n"
        + "".join(f"/{one}\n" for one in listed)
        for caption, listed in NAVIGATION.items()
    )
    return "".join(f"{section}```\n" for section in sections)
