"""Several jobs in one driver: `spark-submit --py-files pipeline.zip submitted_jobs.py RUNS.json`.

RUNS.json is a list of command lines, each a list of words, of jobs on Spark. They share a session,
whose start takes longer than a small job. The pipeline comes from the zip alone.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path


def main() -> None:
    from pipeline.command import parser_for
    from pipeline.spark import session

    runs = json.loads(Path(sys.argv[1]).read_text())
    given = [parser_for(run[0]).parse_args(run) for run in runs]
    modules = [import_module(f"pipeline.jobs.{options.job}") for options in given]
    needs = session.NOTHING_MORE
    for module, options in zip(modules, given, strict=True):
        session.check(options)
        if hasattr(module, "needs"):
            wanted = module.needs(options)
            needs = replace(needs, settings={**needs.settings, **wanted.settings})
    spark = session.make_session("submitted", given[0], needs)
    try:
        for module, options in zip(modules, given, strict=True):
            module.check(options)
            code = module.run(spark, options)
            print(f"{options.job} ends with {code}", flush=True)
            assert code == 0
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
