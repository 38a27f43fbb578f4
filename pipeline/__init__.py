"""PySpark jobs that read from a broker and write to it, as any client does.

Nothing here is imported by the broker, and nothing of the broker is imported here: a job runs where
Spark runs.
"""

from __future__ import annotations
