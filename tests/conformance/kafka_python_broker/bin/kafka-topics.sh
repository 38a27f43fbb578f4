#!/bin/sh
# Stand-in: Kafka's own kafka-topics, with the jars of this repository's tests.
cd "$(dirname "$0")/../../../.." && exec python3 -m tests.tools.java_tools kafka-topics "$@"
