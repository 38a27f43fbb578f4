"""The registration of `kafka-folder` in a Spark session, with the code for its workers.

Owns the artifact: this package as a zip, which Spark Connect takes, too. It also works where the
package itself was imported from a zip, as by `spark-submit --py-files`.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from log_format.spark_source import DataFolderSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGE = "log_format"
_WRITTEN = (2000, 1, 1, 0, 0, 0)
"""The time of all files in the artifact, so that the same code gives the same bytes."""


def register_folder_source(spark: SparkSession) -> None:
    """Register the format `kafka-folder`, and send its code to the session's workers.

    To register it again does no harm: the artifact has the same name.
    """
    spark.addArtifacts(str(_artifact()), pyfile=True)
    spark.dataSource.register(DataFolderSource)


@cache
def _artifact() -> Path:
    """Return the file with the package. It stays until this process ends, because a worker fetches
    it with its first task."""
    content = packed_package()
    folder = tempfile.mkdtemp(prefix="ottla-artifact-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = Path(folder) / f"{PACKAGE}-{hashlib.sha256(content).hexdigest()[:16]}.zip"
    file.write_bytes(content)
    return file


def packed_package() -> bytes:
    """Return the package as a zip from which Python imports; the same bytes each time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(_sources(files(PACKAGE), PACKAGE)):
            archive.writestr(zipfile.ZipInfo(name, _WRITTEN), text)
    return out.getvalue()


def _sources(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path in the zip and the text of each Python file in a folder."""
    for file in folder.iterdir():
        path = f"{name}/{file.name}"
        if file.is_dir() and file.name != "__pycache__":
            yield from _sources(file, path)
        elif file.name.endswith(".py"):
            yield path, file.read_bytes()
