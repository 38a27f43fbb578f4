"""Data folders of a Kafka broker as a format of Spark, for jobs of your own.

    from ottla.spark import register_folder_source

    register_folder_source(spark)
    spark.read.format("kafka-folder").option("subscribe", "cdr").load("/backup/kafka-logs")

The format is a Data Source of Python (Spark 4.0). Its code is the package `log_format`, which is
not on the import path of a project beside which Ottla is installed. This module loads it by its
place.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location

PACKAGE = "log_format"
_HERE = os.path.dirname(os.path.abspath(__file__))


def register_folder_source(spark: object) -> None:
    """Register the format `kafka-folder` in a SparkSession, and send its code to the session's
    workers, also through Spark Connect. To register it again does no harm.

    Raises ImportError if pyspark, pyarrow or numpy is missing, or if this process has loaded
    another package that is named `log_format`.
    """
    _load_package()
    import_module(f"{PACKAGE}.spark_registration").register_folder_source(spark)


def _load_package() -> None:
    """Load `log_format`, but leave `sys.path` as it is: on it, the server's packages could hide
    those of the job."""
    folder = _package_folder()
    loaded = sys.modules.get(PACKAGE)
    if loaded is None:
        spec = spec_from_file_location(
            PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        assert spec is not None and spec.loader is not None
        loaded = sys.modules[PACKAGE] = module_from_spec(spec)
        spec.loader.exec_module(loaded)
    elif folder not in getattr(loaded, "__path__", ()):
        raise ImportError(
            f"another package {PACKAGE} is loaded, from {getattr(loaded, '__file__', None)}: "
            "rename it, because the format kafka-folder needs this name"
        )


def _package_folder() -> str:
    """Return the folder of `log_format`: under `ottla/_server` in an installation, beside `ottla`
    in a checkout."""
    packed = os.path.join(_HERE, "_server")
    return os.path.join(packed if os.path.isdir(packed) else os.path.dirname(_HERE), PACKAGE)
