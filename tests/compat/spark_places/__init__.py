"""Every job of the pipeline, wherever Spark runs: on a cluster, behind Spark Connect, here."""
