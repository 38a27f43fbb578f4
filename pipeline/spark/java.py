"""The Java and the connector's jars that Spark needs here: found, or said in one line.

Owns the cache of the jars, filled once through Maven from `connector/pom.xml`. Where there is no
Maven, Spark resolves the same version itself (`spark.jars.packages`). Starts no Spark.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from pipeline.errors import PipelineError

JAVA_MIN = 17
PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
JARS_VARIABLE = "OTTLA_SPARK_JARS"
POM = Path(__file__).parents[1] / "connector" / "pom.xml"
_MAVEN_TIMEOUT_S = 600
_VERSION_TIMEOUT_S = 60


def java_path() -> str | None:
    """`java` as Spark's scripts look for it: JAVA_HOME first."""
    home = os.environ.get("JAVA_HOME")
    if home:
        return str(Path(home) / "bin" / "java")
    return shutil.which("java")


def check_java() -> None:
    """PipelineError where Spark could not start."""
    advice = f"Spark needs Java {JAVA_MIN}: install it (on Debian openjdk-{JAVA_MIN}-jre-headless)"
    path = java_path()
    if path is None:
        raise PipelineError(f"there is no java on the PATH. {advice}, or set JAVA_HOME")
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own Java
            [path, "-version"], capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S
        )
    except OSError as error:
        raise PipelineError(f"{path} does not run. {advice} and set JAVA_HOME to it") from error
    found = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    if found is not None and int(found[1]) < JAVA_MIN:
        raise PipelineError(f"{path} is Java {found[1]}. {advice} and set JAVA_HOME to it")


def connector_settings() -> dict[str, str]:
    """The setting of Spark that brings its Kafka connector.

    `OTTLA_SPARK_JARS` (paths with commas), else Maven's, else what Spark resolves itself.
    """
    named = os.environ.get(JARS_VARIABLE)
    if named:
        return {"spark.jars": named}
    folder = jar_folder()
    maven = shutil.which("mvn")
    if not folder.is_dir() and maven is None:
        return {"spark.jars.packages": PACKAGE}
    if not folder.is_dir():
        _fetch(folder, str(maven))
    return {"spark.jars": ",".join(sorted(map(str, folder.glob("*.jar"))))}


def jar_folder() -> Path:
    """Where the jars of this pom are kept; another folder when it changes."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "ottla" / f"spark-connector-{hashlib.sha256(POM.read_bytes()).hexdigest()[:16]}"


def _fetch(folder: Path, maven: str) -> None:
    print("fetching the jars of Spark's Kafka connector, once", flush=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".fetching-", dir=folder.parent))
    try:
        done = subprocess.run(  # noqa: S603 - Maven with our own pom
            [
                *(maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"),
                *(f"-DoutputDirectory={scratch}", "-DincludeScope=runtime"),
            ],
            capture_output=True,
            text=True,
            timeout=_MAVEN_TIMEOUT_S,
        )
        if done.returncode != 0 or not any(scratch.glob("*.jar")):
            said = [line for line in done.stdout.splitlines() if line.startswith("[ERROR]")]
            why = said[0].removeprefix("[ERROR] ") if said else "no answer"
            raise PipelineError(
                f"Maven could not fetch Spark's Kafka connector ({why}): check the network and "
                f"~/.m2/settings.xml, or name the jars in {JARS_VARIABLE}"
            )
        scratch.chmod(0o755)
        if not folder.exists():
            scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
