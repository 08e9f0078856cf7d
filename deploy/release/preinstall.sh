#!/bin/sh
set -e
getent group hopgate >/dev/null || groupadd --system hopgate
getent passwd hopgate >/dev/null ||
  useradd --system --gid hopgate --home-dir /var/lib/hopgate --no-create-home --shell /usr/sbin/nologin hopgate
