# The first process of a node's PID namespace: see run-node.sh.
set -e
directory=$1
# /proc is still that of the machine, so this is the PID there.
read -r pid rest </proc/self/stat
# The kubelet and runc need shared mounts. They stay in this mount namespace.
mount --make-rshared /
mount -t proc proc /proc
# /sys of this network namespace, with the cgroups of the machine.
mkdir "$directory/cgroup"
mount --rbind /sys/fs/cgroup "$directory/cgroup"
mount -t sysfs sysfs /sys
mount --rbind "$directory/cgroup" /sys/fs/cgroup
# Sockets, container networks and logs have fixed paths, and must not stay on the machine.
for path in /run /var/lib /var/log; do mount -t tmpfs tmpfs "$path"; done
mkdir /run/lock /run/netns
echo 1 >/proc/sys/net/ipv4/ip_forward
ip link set lo up
echo "$pid" >"$directory/pid.new"
mv "$directory/pid.new" "$directory/pid"
# "wait" also collects the processes of containers that have lost their parent.
exec 3<&0
cat <&3 >/dev/null &
wait $!
