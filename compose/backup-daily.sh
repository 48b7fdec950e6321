#!/bin/sh
# A backup whenever the newest is a day old, so that restarts do not push older ones out; the newest 14 stay.
set -eu
while :; do
  if ! find "$1" -name 'prefine-*.zip' -mmin -1440 | grep -q .; then
    ./prefine backup "$1/prefine-$(date -u +%Y%m%d-%H%M%S).zip"
    ls -1 "$1"/prefine-*.zip | sort -r | tail -n +15 | xargs -r rm --
  fi
  sleep 3600
done
