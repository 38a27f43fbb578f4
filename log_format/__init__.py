"""Kafka's log format as it lies on a disk, read without a broker: folders to columns of Arrow.

Segments, their indexes and the checkpoints beside them, of Apache Kafka or of Ottla. Owns how
folders become record batches, and these columns, by numpy. Never writes, and knows neither servers
nor jobs: `data_source` is a PySpark Data Source that stands on it, whose executors need this
package and nothing else of the project. Format v2 alone (KIP-98): Kafka 4 reads no older one.
"""

from __future__ import annotations
