"""`python -m tests.conformance`: write docs/compatibility.md.

--check    write nothing; exit 1 where the file is not what would be written
--record   start an Apache Kafka (Java 17) and keep what it answers to ApiVersions
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.conformance.page import page
from tests.conformance.served_apis import record

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"


def main(arguments: list[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, say what is stale")
    parser.add_argument("--record", action="store_true", help="ask an Apache Kafka first")
    options = parser.parse_args(arguments)
    if options.record:
        record()
    text = page()
    if not options.check:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        print(f"{PAGE.name} is stale: run python -m tests.conformance", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
