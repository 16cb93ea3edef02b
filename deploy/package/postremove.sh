#!/bin/sh
# "purge", which rpm does not have, also removes settings, keys, data and the user.
set -e

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
if [ "$1" = purge ]; then
  rm -rf /etc/countersign /var/lib/countersign
  if getent passwd countersign >/dev/null; then
    userdel countersign
  fi
  if getent group countersign >/dev/null; then
    groupdel countersign
  fi
fi
