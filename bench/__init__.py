"""A benchmark: the same load on Ottla and on Apache Kafka, in one run, as ratios."""
