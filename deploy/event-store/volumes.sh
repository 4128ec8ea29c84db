#!/bin/sh
# The gate before the nodes of a cluster: two with empty folders would elect one of themselves, and the third would cut off its log
# to follow it. So where one folder alone has a log, the cluster does not start before `volumes.sh copy` has given the others a copy
# of it, while all nodes are stopped: docs/deployment.md#from-one-of-each-to-a-cluster.
set -eu
cd /volumes
full='' empty=''
for node in *; do
  # What an interrupted copy has left is none.
  if [ -e "$node/chaser.chk" ] && [ ! -e "$node/.copying" ]; then full="$full $node"; else empty="$empty $node"; fi
done
count() { echo $#; }
# Without quotes: each word is a node.
# shellcheck disable=SC2086
if [ "$(count $full)" != 1 ]; then
  echo "these nodes have a log:${full:- none}; they may start."
elif [ "${1:-}" = copy ]; then
  for node in $empty; do
    echo "copying the log of$full to $node"
    touch "$node/.copying"
    cp -a "${full# }/." "$node/"
    rm "$node/.copying"
  done
else
  echo "only$full has a log, and$empty would cut it off: stop all nodes, and copy it as docs/deployment.md says." >&2
  exit 1
fi
