#!/usr/bin/env bash
# Prints the folder of the virtual environment with the tools of requirements.txt, which it makes in the cache if need be.
set -euo pipefail
requirements=$(dirname "$0")/requirements.txt
sum=$(sha256sum "$requirements") venv=${XDG_CACHE_HOME:-$HOME/.cache}/hopgate/docs-${sum:0:12}
if [[ ! -e $venv/complete ]]; then
  python3 -m venv --clear "$venv" >&2
  "$venv/bin/pip" install -q --disable-pip-version-check -r "$requirements" >&2
  touch "$venv/complete"
fi
echo "$venv"
