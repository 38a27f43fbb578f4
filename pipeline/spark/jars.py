"""The jars that Spark needs beyond its own: its Kafka connector, and what a job names besides.

A job names a jar by its Maven coordinates (`io.delta:delta-spark_2.13:4.0.0`). Maven fetches each
once, with what it depends on, into a cache of ours; what PySpark ships is left out. Where there is
no Maven, Spark resolves the same coordinates itself (`spark.jars.packages`). Owns the cache. Starts
no Spark.
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
_DOWNLOADED = re.compile(r"([^/ ]+\.jar) \(([\d.]+ [MG]B) at")  # not of Maven's many small ones
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
    """The settings of Spark that bring its Kafka connector and `packages` (`group:name:version`).

    `OTTLA_SPARK_JARS` (paths with commas) names all of them, else Maven fetches what is not in the
    cache, else Spark resolves them. PipelineError where one is missing or cannot be fetched.
    """
    assert all(_COORDINATES.fullmatch(one) for one in packages), packages
    named = os.environ.get(JARS_VARIABLE)
    if named:
        _check_named(named, packages)
        return {"spark.jars": named}
    folders = {one: jar_folder(one) for one in (PACKAGE, *packages)}
    missing = [one for one, folder in folders.items() if not folder.is_dir()]
    maven = shutil.which("mvn")
    if missing and maven is None:
        return {"spark.jars.packages": ",".join(folders)}
    for number, one in enumerate(missing, 1):
        assert maven is not None
        name, folder = one.split(":")[1], folders[one]
        _say(f"fetching {name} for Spark ({number} of {len(missing)}), once, into {folder.parent}")
        _fetch(one, folder, maven)
    return {"spark.jars": ",".join(_jars(folders.values()))}


def jar_folder(package: str = PACKAGE) -> Path:
    """Where the jars of a package are kept; another folder when its version or our pom changes."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ottla"
    if package == PACKAGE:
        return cache / f"spark-connector-{hashlib.sha256(POM.read_bytes()).hexdigest()[:16]}"
    return cache / "spark-jars" / package.replace(":", "+")


def _jars(folders: Iterable[Path]) -> list[str]:
    found = {jar.name: str(jar) for folder in folders for jar in sorted(folder.glob("*.jar"))}
    return list(found.values())


def _check_named(named: str, packages: Sequence[str]) -> None:
    files = [Path(one).name for one in named.split(",")]
    for package in packages:
        name = package.split(":")[1]
        if not any(file.startswith(name) for file in files):
            raise PipelineError(f"{JARS_VARIABLE} names no {name}: add the jar of {package}")


def _fetch(package: str, folder: Path, maven: str) -> None:
    """Fill one folder of the cache, whole or not at all."""
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
    """Maven, whose progress is told every two seconds."""
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
    """Tell how far Maven is; the first error in what it said.

    It rewrites a line of progress, `Progress (1): 12/47 MB`, by carriage returns.
    """
    why: str | None = None
    told = clock()
    for line in _lines(said):
        if line.startswith("[ERROR] "):
            why = why or line.removeprefix("[ERROR] ")
        elif line.startswith("Progress (") and clock() - told >= _TELL_S:
            told = clock()
            say(f"  … {line.partition(': ')[2]}")
        elif done := _DOWNLOADED.search(line):
            say(f"  {done[1]}, {done[2]}")
    return why


def _lines(said: IO[bytes]) -> Iterator[str]:
    rest = b""
    while piece := said.read1(65536):  # type: ignore[attr-defined]
        *whole, rest = re.split(rb"[\r\n]+", rest + piece)
        yield from (one.decode(errors="replace").strip() for one in whole)
    yield rest.decode(errors="replace").strip()


def _of_pyspark() -> set[str]:
    """The jars that PySpark ships, without their versions."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return set()
    return {_artifact(jar) for jar in (Path(found.origin).parent / "jars").glob("*.jar")}


def _artifact(jar: Path) -> str:
    return _VERSION.sub("", jar.stem)


def _not_fetched(package: str, why: str) -> PipelineError:
    return PipelineError(
        f"Maven could not fetch {package} ({why}): check the network and ~/.m2/settings.xml, or "
        f"name the jars in {JARS_VARIABLE}"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
