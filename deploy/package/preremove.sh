#!/bin/sh
# Stops and disables the units on removal. On an upgrade (deb: "upgrade", rpm: 1), they continue to run.
set -e

case "$1" in
remove | 0)
  if [ -d /run/systemd/system ]; then
    systemctl disable --now countersign-api.service countersign-worker.service countersign-temporal.service || true
  fi
  ;;
esac
