#!/bin/sh
# Creates the user for the units.
set -e

if ! getent group countersign >/dev/null; then
  groupadd --system countersign
fi
if ! getent passwd countersign >/dev/null; then
  useradd --system --gid countersign --home-dir /var/lib/countersign --no-create-home --shell /usr/sbin/nologin \
    --comment 'Countersign' countersign
fi
