"""PySpark jobs that read from a broker and write to it as clients do: `ottla-pipeline JOB`.

A job is a file of `jobs/`: `generate`, `stream`, `load`, `replay`, `audit`; `docs/pipeline.md`
shows the flow. Nothing here is imported by the broker, and nothing of the broker is imported here:
a job runs where Spark runs, and against Apache Kafka as well.
"""

from __future__ import annotations
