#!/bin/bash
# Stand-in for Kafka's script, with which kafka-python's fixture starts its brokers: it runs
# `kafka-run-class.sh kafka.Kafka FILE`, and Ottla starts with that file. What Java would get as a
# JAAS file becomes a key of the listener; what the fixture waits for in Kafka's log is said as soon
# as the node is ready.
file=$2
if [ -n "$KAFKA_OPTS" ]; then
    mechanism=$(sed -n 's/^sasl.enabled.mechanisms=//p' "$file" | tr '[:upper:]' '[:lower:]')
    module=$(grep LoginModule "${KAFKA_OPTS##*java.security.auth.login.config=}")
    echo "listener.name.sasl_plaintext.$mechanism.sasl.jaas.config=$module" >> "$file"
fi
started='[KafkaRaftServer nodeId=\1] Kafka Server started'
replayed='Replayed UserScramCredentialRecord creating new entry for alice'
exec ottla serve --config "$file" \
    > >(exec sed -u "s/^ottla: node \([0-9]*\) is ready.*/&\n$started\n$replayed/") 2>&1
