#!/bin/sh
# images.sh NODE_IMAGE BASE_IMAGE: builds every image that the drill needs.
set -eu
node=$1 base=$2
cd "$(dirname "$0")/../../.."
for target in slim worker; do
  docker build --file deploy/Dockerfile --target $target --tag reeltally:$target --build-arg NODE_IMAGE="$node" --build-arg BASE_IMAGE="$base" .
done
for target in event-store postgres nats proxy prometheus; do
  docker build --file test/deploy/drill/engines.Dockerfile --target $target --tag drill-$target --build-arg BASE_IMAGE="$base" .
done
