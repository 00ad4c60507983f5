#!/usr/bin/env bash
# Ends the deadlock of an install in which nodes name rendered configs that the cluster never had. Call it in an install
# script after the first nodes have joined, with KUBECONFIG set. It writes only through "restore", and can run again.
#
# Usage: repair-install.sh [MINUTES [SOURCE...]]
#   MINUTES  how long to wait for the API server and for the nodes, 30 by default
#   SOURCE   file or directory with copies to read before the disks of the nodes, by default /etc/mcs/bootstrap, which
#            only the bootstrap host has
# Exit codes: 0 nothing to repair, or repaired; 1 not repaired; 2 wrong usage, or a program is missing;
#             3 the API server did not answer, or denies access
set -uo pipefail

minutes=${1:-30}
sources=("${@:2}")
guard=${MACHINECONFIG_GUARD:-machineconfig-guard}
if ! [[ $minutes =~ ^[0-9]{1,4}$ ]]; then
  echo 'usage: repair-install.sh [MINUTES [SOURCE...]]' >&2
  exit 2
fi
if [ $# -le 1 ] && [ -d /etc/mcs/bootstrap ]; then sources=(/etc/mcs/bootstrap); fi
for program in "$guard" jq; do
  command -v "$program" >/dev/null || { echo "$program is not on the PATH" >&2; exit 2; }
done

# The report as JSON, and the exit code of check. While the API server restarts, the exit code is 3.
check() {
  local deadline=$((SECONDS + minutes * 60)) code
  while :; do
    report=$("$guard" check --output json "$@")
    code=$?
    if [ "$code" != 3 ] || [ "$SECONDS" -ge "$deadline" ]; then return "$code"; fi
    sleep 10
  done
}

# One line for each missing config: its name, then the nodes that name it.
list_missing() {
  jq --raw-output '[.problems[] | select(.code == "ConfigMissing" and .kind == "Node" and (.recoverable | not))]
    | group_by(.config)[] | [.[0].config] + (map(.name) | unique) | @tsv' <<<"$report"
}

check
code=$?
case $code in
  0) echo 'nothing to repair' && exit 0 ;;
  1) ;;
  *) exit "$code" ;;
esac

while IFS=$'\t' read -r config nodes; do
  echo "restoring $config, which $nodes name" >&2
  # shellcheck disable=SC2086 # No name of a node has a space.
  for source in "${sources[@]}" $(printf 'node/%s ' $nodes); do
    "$guard" restore "$config" --from "$source" --confirm --timeout "${minutes}m" </dev/null && break
  done
done < <(list_missing)

check --wait --timeout "${minutes}m"
code=$?
if [ "$code" = 0 ]; then
  echo 'repaired'
else
  jq --raw-output '"still wrong: " + .problems[].message' <<<"$report" >&2
fi
exit "$code"
