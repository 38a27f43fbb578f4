"""`python -m pipeline`, and the program that spark-submit is given.

Owns nothing: `pipeline.command` is the command `ottla-pipeline`.
"""

from __future__ import annotations

import sys

from pipeline.command import main

if __name__ == "__main__":
    sys.exit(main())
