#!/bin/bash
# Starts a class of Kafka with the environment variables of Kafka's script of this name. Takes jars
# by wildcard and uses archives of classes, so that a start needs a fraction of the processor time.
home=/opt/kafka-dev name= daemon=
while [ $# -gt 0 ]; do
  case $1 in
  -name) name=$2; shift 2 ;;
  -loggc) shift ;;
  -daemon) daemon=1; shift ;;
  *) break ;;
  esac
done

# Connect, Trogdor and the programs of the tests use jars of the release that has them all.
libs=$home/libs archive=
case $1 in org.apache.kafka.connect.* | org.apache.kafka.trogdor.*) libs=$home/libs-programs ;; esac
if [ "$INCLUDE_TEST_JARS" = true ] || [ -n "$CLASSPATH" ]; then
  libs=$home/libs-programs
elif [ -r "$home/archives/$1.jsa" ]; then
  archive=-XX:SharedArchiveFile=$home/archives/$1.jsa
fi
# The tests look for the name of this jar to learn a process's version.
classes=$CLASSPATH:$(echo $libs/kafka-clients-*.jar):$libs/*
[ "$INCLUDE_TEST_JARS" != true ] || classes=$home/libs-test/*:$classes

jmx=${KAFKA_JMX_OPTS:-"-Dcom.sun.management.jmxremote=true \
-Dcom.sun.management.jmxremote.authenticate=false -Dcom.sun.management.jmxremote.ssl=false"}
if [ -n "$JMX_PORT" ]; then
  jmx="$jmx -Dcom.sun.management.jmxremote.port=$JMX_PORT"
  jmx="$jmx -Dcom.sun.management.jmxremote.rmi.port=$JMX_PORT"
fi
logging=${KAFKA_LOG4J_OPTS:-"-Dlog4j2.configurationFile=$home/config/tools-log4j2.yaml"}
LOG_DIR=${LOG_DIR:-/tmp/kafka-logs}
mkdir -p "$LOG_DIR" 2>/dev/null

quick="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto"
set -- java $archive ${KAFKA_HEAP_OPTS:--Xmx256m} ${KAFKA_JVM_PERFORMANCE_OPTS:-$quick} $jmx \
  -Dkafka.logs.dir="$LOG_DIR" $logging -cp "${classes#:}" $KAFKA_OPTS "$@"
if [ -n "$daemon" ]; then
  nohup "$@" >"$LOG_DIR/$name.out" 2>&1 </dev/null &
else
  exec "$@"
fi
