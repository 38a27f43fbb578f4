"""PySpark jobs that read from a broker and write to it as clients do: `ottla-pipeline JOB`.

A job is a file of `jobs/`: `generate`, `stream`, `table`, `load`, `replay`, `audit`;
`docs/pipeline.md` shows the flow. The broker imports nothing of this package, nor this package
anything of the broker: a job runs where Spark runs, and against Apache Kafka as well.
"""

from __future__ import annotations
