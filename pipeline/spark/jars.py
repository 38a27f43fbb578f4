"""The jars that Spark needs beyond its own: its Kafka connector, and the packages of a job.

A job names a jar by its Maven coordinates (`io.delta:delta-spark_2.13:4.0.0`). Maven fetches each
jar once, with its dependencies, into a cache of Ottla, without the jars that PySpark ships. Without
Maven, Spark resolves the same coordinates itself (`spark.jars.packages`). Owns the cache. Starts no
Spark.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from pipeline.errors import PipelineError

PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
JARS_VARIABLE = "OTTLA_SPARK_JARS"
POM = Path(__file__).parents[1] / "connector" / "pom.xml"
_MAVEN_TIMEOUT_S = 900
_TELL_S = 2.0
_COORDINATES = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+")
_DOWNLOADED = re.compile(r"([^/ ]+\.jar) \(([\d.]+ [MG]B) at")  # skips Maven's many small files
_VERSION = re.compile(r"-\d[\w.-]*$")
_POM_OF = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>ottla.pipeline</groupId><artifactId>jars</artifactId><version>1</version>
<packaging>pom</packaging>
<dependencies><dependency>
<groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
</dependency></dependencies>
<build><plugins><plugin>
<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId>
<version>3.8.1</version>
</plugin></plugins></build>
</project>
"""


def jar_settings(packages: Sequence[str] = ()) -> dict[str, str]:
    """Return Spark's settings for its Kafka connector and for `packages` (`group:name:version`).

    If `OTTLA_SPARK_JARS` is set (paths with commas), it names all jars. Otherwise Maven fetches the
    packages that are not in the cache; without Maven, Spark resolves them. Raises PipelineError if
    a jar is missing or cannot be fetched.
    """
    assert all(_COORDINATES.fullmatch(package) for package in packages), packages
    named = os.environ.get(JARS_VARIABLE)
    if named:
        _check_named(named, packages)
        return {"spark.jars": named}
    folders = {package: jar_folder(package) for package in (PACKAGE, *packages)}
    missing = [package for package, folder in folders.items() if not folder.is_dir()]
    maven = shutil.which("mvn")
    if missing and maven is None:
        return {"spark.jars.packages": ",".join(folders)}
    for number, package in enumerate(missing, 1):
        assert maven is not None
        name, folder = package.split(":")[1], folders[package]
        _say(f"fetching {name} for Spark ({number} of {len(missing)}), once, into {folder.parent}")
        _fetch(package, folder, maven)
    return {"spark.jars": ",".join(_jars(folders.values()))}


def jar_folder(package: str = PACKAGE) -> Path:
    """Return the folder for the jars of a package, another one for another version of the package
    or another pom of the connector."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ottla"
    if package == PACKAGE:
        return cache / f"spark-connector-{hashlib.sha256(POM.read_bytes()).hexdigest()[:16]}"
    return cache / "spark-jars" / package.replace(":", "+")


def _jars(folders: Iterable[Path]) -> list[str]:
    jars = {jar.name: str(jar) for folder in folders for jar in sorted(folder.glob("*.jar"))}
    return list(jars.values())


def _check_named(named: str, packages: Sequence[str]) -> None:
    files = [Path(path).name for path in named.split(",")]
    for package in packages:
        name = package.split(":")[1]
        if not any(file.startswith(name) for file in files):
            raise PipelineError(f"{JARS_VARIABLE} names no {name}: add the jar of {package}")


def _fetch(package: str, folder: Path, maven: str) -> None:
    """Fetch a package into its folder of the cache, completely or not at all. Raises PipelineError
    if Maven cannot."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".fetching-", dir=folder.parent))
    try:
        pom = POM
        if package != PACKAGE:
            pom = scratch / "pom.xml"
            pom.write_text(_POM_OF.format(*package.split(":")), "utf-8")
        _run(
            [
                *(maven, "-Dstyle.color=never", "-f", str(pom), "dependency:copy-dependencies"),
                *(f"-DoutputDirectory={scratch / 'jars'}", "-DincludeScope=runtime"),
            ],
            package,
        )
        jars = scratch / "jars"
        ours = _of_pyspark()
        for jar in jars.glob("*.jar"):
            if _artifact(jar) in ours:
                jar.unlink()
        if not any(jars.glob("*.jar")):
            raise _not_fetched(package, "no answer")
        with contextlib.suppress(OSError):  # another process was quicker
            jars.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run(command: list[str], package: str) -> None:
    """Run Maven, and print its progress every two seconds. Raises PipelineError if Maven fails."""
    process = subprocess.Popen(  # noqa: S603 - Maven with our own pom
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    patience = threading.Timer(_MAVEN_TIMEOUT_S, process.kill)
    patience.start()
    try:
        assert process.stdout is not None
        with process.stdout as said:
            why = follow(said, time.monotonic, _say)
        if process.wait() != 0:
            raise _not_fetched(package, why or "no answer")
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        patience.cancel()


def follow(said: IO[bytes], clock: Callable[[], float], say: Callable[[str], None]) -> str | None:
    """Print how far Maven is with `say`, and return the first error in its output, else None.

    Maven rewrites a line of progress, `Progress (1): 12/47 MB`, by carriage returns.
    """
    why: str | None = None
    printed_at = clock()
    for line in _lines(said):
        if line.startswith("[ERROR] "):
            why = why or line.removeprefix("[ERROR] ")
        elif line.startswith("Progress (") and clock() - printed_at >= _TELL_S:
            printed_at = clock()
            say(f"  … {line.partition(': ')[2]}")
        elif done := _DOWNLOADED.search(line):
            say(f"  {done[1]}, {done[2]}")
    return why


def _lines(said: IO[bytes]) -> Iterator[str]:
    rest = b""
    while piece := said.read1(65536):  # type: ignore[attr-defined]
        *whole, rest = re.split(rb"[\r\n]+", rest + piece)
        yield from (line.decode(errors="replace").strip() for line in whole)
    yield rest.decode(errors="replace").strip()


def _of_pyspark() -> set[str]:
    """Return the names of the jars that PySpark ships, without their versions."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        return set()
    return {_artifact(jar) for jar in (Path(spec.origin).parent / "jars").glob("*.jar")}


def _artifact(jar: Path) -> str:
    return _VERSION.sub("", jar.stem)


def _not_fetched(package: str, why: str) -> PipelineError:
    return PipelineError(
        f"Maven could not fetch {package} ({why}): check the network and ~/.m2/settings.xml, or "
        f"name the jars in {JARS_VARIABLE}"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
