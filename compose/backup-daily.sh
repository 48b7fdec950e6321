#!/bin/sh
# A backup at the start and then every 24 hours; the newest 14 stay.
set -eu
while :; do
  ./prefine backup "$1/prefine-$(date -u +%Y%m%d-%H%M%S).zip"
  ls -1 "$1"/prefine-*.zip | sort -r | tail -n +15 | xargs -r rm --
  sleep 86400
done
