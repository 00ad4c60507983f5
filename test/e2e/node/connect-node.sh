# Usage: sh connect-node.sh PID LINK GATEWAY ADDRESS POD_SUBNET
# Connects the network namespace of a process with this machine: LINK leads to its interface eth0 with the ADDRESS, behind
# which its pods are. It reaches this machine at GATEWAY. The link and its routes go with the namespace.
set -e
pid=$1 link=$2 gateway=$3 address=$4 pod_subnet=$5
inside() { nsenter --target "$pid" --net ip "$@"; }
ip link add "$link" type veth peer name eth0 netns "$pid"
ip address add "$gateway/32" dev "$link"
ip link set "$link" up
ip route add "$address/32" dev "$link" src "$gateway"
inside address add "$address/32" dev eth0
inside link set eth0 up
inside route add "$gateway/32" dev eth0
inside route add default via "$gateway"
ip route add "$pod_subnet" via "$address" dev "$link" src "$gateway"
