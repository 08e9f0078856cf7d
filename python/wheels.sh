#!/usr/bin/env bash
# Builds a wheel for each platform given, such as linux/amd64, into WHEELS_DIR, by default bin/wheels: the package with the server for it,
# or with the one that HOPGATE_BUILT names.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=bin/wheels-venv
[[ -d $venv ]] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install -q 'build>=1.2' 'hatchling>=1.27'

for platform; do
  os=${platform%/*} arch=${platform#*/} suffix=
  case $platform in
    linux/amd64) tag=manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64 ;;
    linux/arm64) tag=manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64 ;;
    darwin/amd64) tag=macosx_12_0_x86_64 ;;
    darwin/arm64) tag=macosx_12_0_arm64 ;;
    windows/amd64) tag=win_amd64 suffix=.exe ;;
    windows/arm64) tag=win_arm64 suffix=.exe ;;
    *)
      echo "wheels: no tag for $platform" >&2
      exit 1
      ;;
  esac
  server=${HOPGATE_BUILT:-}
  if [[ -z $server ]]; then
    server=$PWD/bin/wheels-server/$os-$arch/hopgate$suffix
    CGO_ENABLED=0 GOOS=$os GOARCH=$arch ${GO:-go} build -trimpath -pgo=bench/default.pgo -ldflags=-s -o "$server" ./cmd/hopgate
  fi
  HOPGATE_SERVER=$server HOPGATE_PLATFORM=$tag "$venv/bin/python" -m build -q --wheel --no-isolation --outdir "${WHEELS_DIR:-bin/wheels}" python
done
