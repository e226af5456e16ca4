#!/bin/sh
# Builds MPICH with the device ch3:nemesis from Debian's source package, which
# no package of Debian's has, and the spawn programs of its own test suite. It
# prints where: a folder of .cache, named for the recipe, which holds bin, lib
# and spawn. What is there already is not built again.
set -eu
cd "$(dirname "$0")/.."

version=4.0.2
flags='--with-device=ch3:nemesis --with-pm=none --disable-maintainer-mode
	--disable-dependency-tracking --disable-fortran --disable-cxx
	--disable-romio --disable-static --without-yaksa --disable-doc
	--enable-fast=O1'
testflags='--disable-fortran --disable-cxx --disable-romio
	--disable-dependency-tracking --disable-maintainer-mode'

recipe=$(printf %s "$version $flags $testflags" | sha256sum | cut -c 1-12)
dir=$PWD/.cache/mpich-$version-$recipe
if [ -f "$dir/complete" ]; then
	echo "$dir"
	exit
fi

say() { echo "mpich: $*" >&2; }

command -v apt-get >/dev/null || {
	say "no apt-get: Debian's source package cannot be fetched"
	exit 1
}
rm -rf "$dir"
mkdir -p "$dir/apt/lists/partial" "$dir/apt/archives/partial" "$dir/source" "$dir/build" "$dir/tests"

# A list of sources of its own: the system's names and keeps binaries only.
say "fetching Debian's source package of MPICH $version"
cat >"$dir/apt/mpich.sources" <<EOF
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
EOF
apt() {
	apt-get -qq -o Dir::Etc::SourceList="$dir/apt/mpich.sources" -o Dir::Etc::SourceParts=- \
		-o Dir::State::Lists="$dir/apt/lists" -o Dir::Cache="$dir/apt" -o APT::Sandbox::User="$(id -un)" "$@" >&2
}
apt update
(cd "$dir" && apt source --download-only "mpich=$version-3")
tar -xf "$dir/mpich_$version.orig.tar.xz" -C "$dir/source" --strip-components=1

# run WHAT COMMAND... shows what a command said only if it fails.
run() {
	what=$1
	shift
	say "$what"
	"$@" >"$dir/log" 2>&1 && return
	tail -n 30 "$dir/log" >&2
	say "$what: failed: $dir/log"
	exit 1
}

jobs=$(nproc)
cd "$dir/build"
# shellcheck disable=SC2086 # one word per flag
run "configuring (2 minutes)" "$dir/source/configure" -q --prefix="$dir" $flags
run "building (5 minutes)" make -j "$jobs"
run "installing" make install

cd "$dir/tests"
# shellcheck disable=SC2086
run "configuring the tests (1 minute)" "$dir/source/test/mpi/configure" -q --with-mpi="$dir" $testflags
run "building what the tests share" make -j "$jobs" -C dtpools
run "building the spawn programs" make -j "$jobs" -C spawn all
mv spawn "$dir/spawn"
cd "$dir"
rm -rf apt source build tests log mpich_*
touch complete
echo "$dir"
