#!/bin/bash
# Formats the folders of the broker that /opt/kafka-dev/peer names.
home=/opt/kafka-dev
if [ "$(cat $home/peer)" = kafka ]; then
  exec $home/bin/kafka-run-class.sh kafka.tools.StorageTool "$@"
fi
ottla=$(cat $home/ottla)
[ "$1" = format ] || exec "$ottla" "$@"
shift

# An older Ottla has no --feature, and formats what is not formatted yet without being asked to.
known=$("$ottla" format --help)
options=()
while [ $# -gt 0 ]; do
  case $1 in
  --ignore-formatted) [[ $known != *$1* ]] || options+=("$1"); shift ;;
  --feature | --release-version) [[ $known != *$1* ]] || options+=("$1" "$2"); shift 2 ;;
  *) options+=("$1"); shift ;;
  esac
done
exec "$ottla" format --override ottla.unknown.keys=warn "${options[@]}"
