#!/usr/bin/env bash
# Builds the wheel of this machine, with the server that make build leaves, installs it in a fresh virtual environment, and runs the tests of the package with the server inside,
# without Go. graphctl of the same build reads the files that other programs write.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d "${TMPDIR:-/tmp}/hopgate-python.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
if ! "$work/venv/bin/pip" download -q --no-deps -d "$work" iniconfig; then
  echo "python-test: not run, since no Python packages can be fetched"
  exit "${UNFETCHED:-1}"
fi

platform=$(${GO:-go} env GOOS)/$(${GO:-go} env GOARCH)
rm -f bin/wheels/*.whl
make build
HOPGATE_BUILT=$PWD/bin/hopgate python/wheels.sh "$platform"

graphctl=$PWD/bin/graphctl
wheel=$(echo "$PWD"/bin/wheels/*.whl)
# PyTorch is large, so its stores are tested only on request.
"$work/venv/bin/pip" install -q "$wheel[test${HOPGATE_TEST_TORCH:+,pyg}]"
cp -r python/tests "$work/tests"
cp -r docs/python.md examples/notebook "$work"
cd "$work"
env -u PYTHON_HOPGATE_BINARY GRAPHCTL="$graphctl" PATH=/usr/bin:/bin venv/bin/python -m pytest -q -p no:cacheprovider tests
