#!/bin/sh
# Unpacks Open MPI 5 of Debian 13 into .cache/openmpi5, beside whatever release this
# machine has: with its own C library, so that nothing of the system is touched, and
# with apt's own check of what it fetches. Once; a word to "native.sh" that builds
# programs against it. Where apt cannot fetch it, the script says so and goes on:
# tests that need it then say that they skip.
set -eu
cd "$(dirname "$0")/.."

tree=.cache/openmpi5
[ ! -e "$tree/complete" ] || exit 0

# The programs' own libraries, and what those are linked with.
packages='libopenmpi40 openmpi-bin openmpi-common libopenmpi-dev libpmix2t64 libpmix-dev
libevent-core-2.1-7t64 libevent-pthreads-2.1-7t64 libhwloc15 libmunge2 libucx0 libfabric1
libpsm2-2 libnuma1 librdmacm1t64 libibverbs1 ibverbs-providers libnl-3-200
libnl-route-3-200 libudev1 libcap2 libgcc-s1 libstdc++6 zlib1g libc6'

skip() {
	echo "openmpi5: $*: Open MPI 5 is not tested" >&2
	rm -rf "$tree"
	exit 0
}

command -v apt-get >/dev/null || skip "no apt-get"
[ "$(dpkg --print-architecture)" = amd64 ] || skip "only for amd64"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keys" ] || skip "no $keys"
# Where this machine's own packages come from there is the next release, too.
# shellcheck disable=SC2016 # apt's own variables
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | head -n 1)
[ -n "$mirror" ] || skip "apt knows no mirror of Debian"

rm -rf "$tree"
mkdir -p "$tree/apt/lists/partial" "$tree/apt/cache/archives/partial" "$tree/debs"
tree=$(cd "$tree" && pwd)
cat >"$tree/apt/trixie.sources" <<END
Types: deb
URIs: $mirror
Suites: trixie
Components: main
Signed-By: $keys
END
# Of apt's own user nothing is asked but to fetch, which root then does here.
apt() {
	apt-get -qq -o "Dir::Etc::sourcelist=$tree/apt/trixie.sources" -o Dir::Etc::sourceparts=- \
		-o "Dir::State::lists=$tree/apt/lists" -o "Dir::Cache=$tree/apt/cache" \
		-o Acquire::Languages=none -o APT::Sandbox::User=root "$@" >&2
}
echo "openmpi5: unpacking Open MPI 5 into .cache/openmpi5" >&2
apt update || skip "apt-get update of Debian 13 failed"
# shellcheck disable=SC2086 # one word per package
(cd "$tree/debs" && apt download $packages) || skip "apt-get download failed"
for deb in "$tree"/debs/*.deb; do
	dpkg -x "$deb" "$tree"
done
# Its launcher and daemon, too, run from where they lie.
wrap() {
	cat >"$tree/$1" <<END
#!/bin/sh
export OPAL_PREFIX=$tree/usr PRTE_PREFIX=$tree/usr PMIX_PREFIX=$tree/usr/lib/x86_64-linux-gnu/pmix2
exec $tree/usr/lib64/ld-linux-x86-64.so.2 --argv0 $1 --library-path $tree/usr/lib/x86_64-linux-gnu $tree/usr/bin/$2 "\$@"
END
	chmod +x "$tree/$1"
}
wrap prterun prte
wrap prted prted
rm -rf "$tree/apt" "$tree/debs" "$tree/usr/share/doc" "$tree/usr/share/man" "$tree/usr/share/locale" \
	"$tree/usr/lib/x86_64-linux-gnu/gconv"
: >"$tree/complete"
