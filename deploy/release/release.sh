#!/usr/bin/env bash
# Builds what a release consists of into bin/release. For each platform given, such as linux/amd64: an archive, an SBOM of each program,
# for Linux a deb and an rpm, and a wheel unless WHEELS is empty. Then the chart, the compose file, Homebrew's formula if its platforms
# are among them, and the checksums. make gives VERSION, and BUILD, the command that compiles. Only the first run needs the network.
set -euo pipefail
cd "$(dirname "$0")/../.."
export VERSION SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
go=${GO:-go} out=$PWD/bin/release work=$PWD/bin/release-work
rm -rf "$out" "$work"
mkdir -p "$out" "$work"

pack() { # an archive, the folder that has what it holds, the names of that
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$2" -cf - "${@:3}" | gzip -n >"$out/$1"
}

# The tools, and what the programs of this machine write for all platforms.
$go build -modfile=tools/release/go.mod -o "$work/tools/" tool
$BUILD -o "$work/host/" ./cmd/...
common=$work/common
mkdir -p "$common"/completions/{bash,fish,zsh,powershell}
cp LICENSE README.md CHANGELOG.md "$common"
for program in hopgate graphctl; do
  "$work/host/$program" manual "$common/man"
  "$work/host/$program" completion bash >"$common/completions/bash/$program"
  "$work/host/$program" completion fish >"$common/completions/fish/$program.fish"
  "$work/host/$program" completion zsh >"$common/completions/zsh/_$program"
  "$work/host/$program" completion powershell >"$common/completions/powershell/$program.ps1"
done

for platform; do
  os=${platform%/*} suffix=
  export ARCH=${platform#*/}
  [[ $os != windows ]] || suffix=.exe
  name=hopgate_${VERSION}_${os}_$ARCH
  export STAGE=$work/$name
  cp -r "$common" "$STAGE"
  GOOS=$os GOARCH=$ARCH $BUILD -o "$STAGE/" ./cmd/...
  find "$STAGE" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
  if [[ $os == windows ]]; then
    (cd "$work" && python3 -m zipfile -c "$out/$name.zip" "$name")
  else
    pack "$name.tar.gz" "$work" "$name"
  fi
  for program in hopgate graphctl; do
    "$work/tools/cyclonedx-gomod" bin -json -noserial -notimestamp -version "v$VERSION" \
      -output "$out/${program}_${VERSION}_${os}_$ARCH.cdx.json" "$STAGE/$program$suffix" 2>"$work/log" || { cat "$work/log"; exit 1; }
  done
  if [[ $os == linux ]]; then
    for packager in deb rpm; do
      "$work/tools/nfpm" package -f deploy/release/nfpm.yaml -p "$packager" -t "$out"
    done
  fi
  [[ -z ${WHEELS-} ]] || HOPGATE_BUILT=$STAGE/hopgate$suffix WHEELS_DIR=$out python/wheels.sh "$platform"
done

(cd deploy/helm/test && $go run ./pack ../hopgate "$out")
pack "hopgate-compose_$VERSION.tar.gz" deploy compose helm/hopgate/files/dashboard.json

formula=$(sed "s/@VERSION@/$VERSION/" deploy/release/hopgate.rb)
for platform in darwin_amd64 darwin_arm64 linux_amd64 linux_arm64; do
  archive=$out/hopgate_${VERSION}_$platform.tar.gz
  [[ ! -e $archive ]] || formula=${formula//@$platform@/$(sha256sum "$archive" | cut -d' ' -f1)}
done
[[ $formula == *@* ]] || echo "$formula" >"$out/hopgate.rb"

(cd "$out" && sha256sum -- * >checksums.txt)
ls -l "$out"
