#!/bin/sh
# Stand-in: Kafka's own kafka-topics, with the jars of this repository's tests.
exec python3 "$(dirname "$0")/../../../tools/java_tools.py" kafka-topics "$@"
