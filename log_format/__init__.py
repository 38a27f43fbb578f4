"""Kafka's log format on disk, read without a broker: from folders to columns of Arrow.

Reads segments, their indexes and the checkpoints beside them, of Apache Kafka or of Ottla. Owns the
steps from folders to record batches, and from these to columns, by numpy. Never writes, and knows
neither servers nor jobs: `spark_source` is a PySpark Data Source built on it, whose executors need
this package and no other of the project. Format v2 only (KIP-98): Kafka 4 reads no older format.
"""

from __future__ import annotations
