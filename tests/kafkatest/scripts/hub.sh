#!/bin/sh
# The place of ducktape: a bridge that joins the hosts, in namespaces that no other program uses.
# usage: hub.sh NETWORK FOLDER   FOLDER: hosts.py's, with kafka-dev/ and ssh/
set -eu
network=$1 folder=$2
hostname hub
mount --bind "$folder/ssh/hosts" /etc/hosts
mount --bind "$folder/kafka-dev" /opt/kafka-dev
ip link set lo up
ip link add br0 type bridge
ip addr add "$network.254/24" dev br0
ip link set br0 up
echo ready
exec sleep infinity
