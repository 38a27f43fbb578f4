"""The program of `python -m pipeline`, which spark-submit can run as well.

Owns nothing: `pipeline.command` is the command `ottla-pipeline`.
"""

from __future__ import annotations

import sys

from pipeline.command import main

if __name__ == "__main__":
    sys.exit(main())
