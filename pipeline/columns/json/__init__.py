"""The strict reader of JSON: plain Python, which Spark's executors run on batches of Arrow.

Spark sends its modules to the executors by value: they need pyarrow and PySpark, not this package.
"""
