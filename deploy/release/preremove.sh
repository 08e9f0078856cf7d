#!/bin/sh
# dpkg says "remove", rpm how many versions stay. Neither the graphs nor their user are removed.
set -e
[ -d /run/systemd/system ] || exit 0
case "$1" in
  remove | 0) systemctl disable --now hopgate.service ;;
esac
