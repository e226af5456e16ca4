#!/bin/sh
# Builds the test clients and examples of OpenPMIx from Debian's source package, which
# no package of Debian's has, for the installed libpmix. It prints where: a folder of
# .cache. What is there already is not built again. Where it cannot be, the script
# says why and exits 1.
set -eu
cd "$(dirname "$0")/.."

say() { echo "pmixtests: $*" >&2; }

headers=/usr/lib/$(gcc -print-multiarch)/pmix2/include
if ! [ -e "$headers/pmix.h" ]; then
	say "no pmix.h (Debian: libpmix-dev)"
	exit 1
fi
number() { sed -n "s/^#define PMIX_VERSION_$1 *\([0-9]*\).*/\1/p" "$headers/pmix_version.h"; }
version=$(number MAJOR).$(number MINOR).$(number RELEASE)
dir=$PWD/.cache/pmix-$version
if [ -e "$dir/complete" ]; then
	echo "$dir"
	exit
fi
if ! command -v apt-get >/dev/null; then
	say "no apt-get: Debian's source package cannot be fetched"
	exit 1
fi
rm -rf "$dir"
mkdir -p "$dir/apt/lists/partial" "$dir/apt/archives/partial" "$dir/source"

# A list of sources of its own: the system's names and keeps binaries only.
say "fetching Debian's source package of PMIx $version"
# shellcheck disable=SC2016 # apt's own variables
apt-get indextargets --format '$(SITE) $(CODENAME)' 'Created-By: Packages' 'Origin: Debian' |
	sed -n '1s/\(.*\) \(.*\)/deb-src \1 \2 main/p' >"$dir/apt/pmix.list"
apt() {
	apt-get -qq -o Dir::Etc::SourceList="$dir/apt/pmix.list" -o Dir::Etc::SourceParts=- -o Acquire::Languages=none \
		-o Dir::State::Lists="$dir/apt/lists" -o Dir::Cache="$dir/apt" -o APT::Sandbox::User="$(id -un)" "$@" >&2
}
apt update
(cd "$dir" && apt source --download-only pmix)
tar -xf "$dir"/pmix_"$version"*.orig.tar.* -C "$dir/source" --strip-components=1
cd "$dir/source"
for source in test/simple/*.c examples/*.c; do
	name=$(basename "$source" .c)
	[ "$name" != pmi1client ] || continue # needs a header that no package has
	gcc -w -O1 -o "$dir/$name" "$source" "-I$headers" "-I$headers/pmix" -I. -Itest/simple -l:libpmix.so.2 -levent_core -levent_pthreads -lpthread
done
cd "$dir"
rm -rf apt source pmix_*
touch complete
echo "$dir"
