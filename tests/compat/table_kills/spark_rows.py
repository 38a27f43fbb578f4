"""`python -m tests.compat.table_kills.spark_rows delta PATH…`: rows as Spark reads them."""

from __future__ import annotations

import sys

from pipeline.command import parser_for
from pipeline.jobs import table
from pipeline.spark.session import make_session
from pipeline.tables.table import open_table


def main() -> None:
    to, *paths = sys.argv[1:]
    options = parser_for("table").parse_args(["table", "--topic", "t", "--to", to])
    spark = make_session("rows", options, table.needs(options))
    value = "hex(CAST(value AS BINARY)) AS value"
    for number, path in enumerate(paths):
        rows = open_table(spark, to, path).read().selectExpr("partition", "offset", value)
        for row in rows.toLocalIterator():
            print("row", number, row.partition, row.offset, row.value)
    spark.stop()


if __name__ == "__main__":
    main()
