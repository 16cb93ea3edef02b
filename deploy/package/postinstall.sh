#!/bin/sh
# Reloads the units. It does not start them, because "countersign setup --host" must write their settings first.
set -e

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart countersign-temporal.service countersign-api.service countersign-worker.service # after an upgrade
fi
