#!/bin/sh
# The units are not started: "countersign setup --host" writes their settings first.
set -e

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart countersign-temporal.service countersign-api.service countersign-worker.service # after an upgrade
fi
