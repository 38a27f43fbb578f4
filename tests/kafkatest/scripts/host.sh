#!/bin/bash
# Process 1 of a host: makes its mounts, waits for its network, starts its sshd and reaps processes.
# usage: host.sh INDEX NETWORK FOLDER   FOLDER: hosts.py's, with kafka-dev/, mnt/INDEX/ and ssh/
# COVERED: folders that are empty on a host; VISIBLE: folders that stay, also below covered ones;
# both separated by colons.
set -eu
index=$1 network=$2 folder=$3
user=ducker uid=64000
echo up
hostname "worker$index"

mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/sshd /run/etc /run/visible
cp "$folder"/ssh/{hostkey,authorized_keys,sshd_config} /run/sshd
chmod 600 /run/sshd/hostkey

# The user of the tests exists on the hosts only.
cp -p /etc/passwd /etc/group /etc/shadow /run/etc
echo "$user:x:$uid:$uid::/home/$user:/bin/bash" >>/run/etc/passwd
echo "$user:x:$uid:" >>/run/etc/group
echo "$user:*:20000:0:99999:7:::" >>/run/etc/shadow
mkdir /run/etc/sudoers.d
echo "$user ALL=(ALL) NOPASSWD: ALL" >/run/etc/sudoers.d/$user
for name in passwd group shadow sudoers.d; do mount --bind /run/etc/$name /etc/$name; done
mount --bind "$folder/ssh/hosts" /etc/hosts

mount --bind "$folder/mnt/$index" /mnt
chown $uid:$uid /mnt
mount --bind "$folder/kafka-dev" /opt/kafka-dev
IFS=:
number=0
for path in $VISIBLE; do
  number=$((number + 1))
  mkdir /run/visible/$number
  mount --bind "$path" /run/visible/$number
done
for path in $COVERED; do mount -t tmpfs -o mode=755 tmpfs "$path"; done
number=0
for path in $VISIBLE; do
  number=$((number + 1))
  mkdir -p "$path"
  mount --bind /run/visible/$number "$path"
done
chmod 1777 /tmp
install -d -o $uid -g $uid /home/$user

until ip link show eth0 >/dev/null 2>&1; do sleep 0.1; done
ip link set lo up
ip addr add "$network.$index/24" dev eth0
ip link set eth0 up
/usr/sbin/sshd -D -e -f /run/sshd/sshd_config >&2 &
until (: </dev/tcp/127.0.0.1/22) 2>/dev/null; do sleep 0.1; done
echo ready
exec >&2
while :; do wait -n || :; sleep 0.2; done
