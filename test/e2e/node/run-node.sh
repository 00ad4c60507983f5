# Usage: sh run-node.sh DIRECTORY CGROUP
# Runs a node in a network, a mount and a PID namespace of its own until standard input ends. That happens even if SIGKILL
# ends the caller. The kernel then kills every process of the node, and removes its mounts and its network.
# DIRECTORY gets the file "pid" when the namespaces exist, and is removed at the end.
directory=$1
cgroup=$2
# Ctrl-C ends the caller, which then closes standard input.
trap '' INT TERM HUP
for controller in /sys/fs/cgroup/*/; do mkdir -p "$controller$cgroup"; done
# A new cpuset is empty, and no process can enter it.
for file in cpuset.cpus cpuset.mems; do
  cat "/sys/fs/cgroup/cpuset/$file" >"/sys/fs/cgroup/cpuset/$cgroup/$file"
done
unshare --net --mount --pid --fork --kill-child --propagation private \
  sh "$(dirname "$0")/init.sh" "$directory"
find /sys/fs/cgroup/*/"$cgroup" -depth -type d -exec rmdir {} ';' 2>/dev/null
rm -rf "$directory"
