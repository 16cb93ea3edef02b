#!/bin/sh
# Reloads the units. With "purge", which rpm does not support, it also removes the settings, keys, data and user.
set -e

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
if [ "$1" = purge ]; then
  rm -rf /etc/countersign /var/lib/countersign
  if getent passwd countersign >/dev/null; then
    userdel countersign || echo 'The user countersign stays: a process runs as it.' >&2
  fi
  if getent group countersign >/dev/null && ! getent passwd countersign >/dev/null; then
    groupdel countersign
  fi
fi
