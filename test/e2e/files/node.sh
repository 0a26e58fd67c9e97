#!/bin/sh
# The namespaces of a node, for as long as it runs: a machine's view of /dev/disk, /etc, /run,
# /var/lib and /var/log.
#   node.sh FOLDER DEVICES LOGS     says {} when it is ready
set -eu
folder="$1" devices="$2" logs="$3"
# Mounts of privileged pods have to reach the kubelet, and no further than this node.
mount --make-rprivate /
mount --make-rshared /
mkdir -p "$folder/etc" "$folder/work" "$folder/kubelet" "$folder/containerd" "$logs"
mount -t overlay etc -o "lowerdir=/etc,upperdir=$folder/etc,workdir=$folder/work" /etc
mount -t tmpfs -o size=64m run /run
mount -t tmpfs -o size=16m lib /var/lib
mount --bind "$logs" /var/log
mkdir /var/lib/kubelet /var/lib/containerd /run/lock
mount --bind "$folder/kubelet" /var/lib/kubelet
mount --bind "$folder/containerd" /var/lib/containerd
# Its disks by their slots. The devices themselves are loop devices, which every node sees.
mkdir -p /dev/disk
mount --bind "$devices/disk" /dev/disk
ip link set lo up
# The API server's address in the cluster, and the metadata service's: this program's forwarders listen there.
ip addr add 10.96.0.1/32 dev lo
ip addr add 169.254.169.254/32 dev lo
echo '{}'
exec sleep infinity
