#!/bin/sh
# A worker, and the sample platform beside it. Both end with the container.
node --disable-warning=ExperimentalWarning /drill/sample.ts &
exec node --disable-warning=ExperimentalWarning src/main/reeltally.js "$@"
