#!/bin/sh
# Stand-in: `kafka-storage.sh format --standalone -t ID -c FILE [--add-scram …]` by `ottla format`.
# The fixture fills in TLS and SASL later, and a format asks for them where a listener has them.
[ "$1 $2 $3 $5" = "format --standalone -t -c" ] || exit 2
id=$4
file=$6
shift 6
names='listeners|advertised\.listeners|inter\.broker\.listener\.name'
sed -E "s/^($names)=(SSL|SASL_PLAINTEXT|SASL_SSL)/\1=PLAINTEXT/" "$file" > "$file.format"
exec ottla format --cluster-id="$id" --config "$file.format" "$@"
