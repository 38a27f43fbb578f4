#!/bin/sh
# Starts the broker that /opt/kafka-dev/peer names, in the foreground.
home=/opt/kafka-dev
if [ "$(cat $home/peer)" = kafka ]; then
  export KAFKA_HEAP_OPTS="${KAFKA_HEAP_OPTS:--Xmx512m}"
  exec $home/bin/kafka-run-class.sh -name kafkaServer kafka.Kafka "$@"
fi
exec "$(cat $home/ottla)" serve --config "$1" --kafka-log-lines \
  --override ottla.unknown.keys=warn
