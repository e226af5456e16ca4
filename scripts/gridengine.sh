#!/bin/sh
# Unpacks Debian's Grid Engine into .cache/gridengine, for a cluster with it. It is not
# installed: its packages want a mailer and have daemons start with the machine. Once.
# Where apt cannot fetch it, the script says so and goes on: tests that need it then say
# that they skip.
set -eu
cd "$(dirname "$0")/.."

tree=.cache/gridengine
[ ! -e "$tree/complete" ] || exit 0

skip() {
	echo "gridengine: $*: Grid Engine is not tested" >&2
	rm -rf "$tree"
	exit 0
}

command -v apt-get >/dev/null || skip "no apt-get"
[ "$(dpkg --print-architecture)" = amd64 ] || skip "only for amd64"

rm -rf "$tree"
mkdir -p "$tree/debs"
tree=$(cd "$tree" && pwd)
echo "gridengine: unpacking Grid Engine into .cache/gridengine" >&2
(cd "$tree/debs" && apt-get -qq -o APT::Sandbox::User=root download \
	gridengine-common gridengine-client gridengine-exec gridengine-master >&2) || skip "apt-get download failed"
for deb in "$tree"/debs/*.deb; do
	dpkg -x "$deb" "$tree"
done
programs=$tree/usr/lib/gridengine
missing=$(ldd "$programs/sge_qmaster" "$programs/sge_execd" "$programs/qsh" | sed -n 's/^\t\(.*\) => not found$/\1/p' | sort -u)
[ -z "$missing" ] || skip "libraries are missing: $missing"
# Its parts are where the package has them, by a name of the same length in /run, which
# each node has for itself.
find "$programs" -type f -exec sed -i 's|/usr/lib/gridengine/%s%s|/run/gridengine/////%s%s|' {} +
(cd "$tree" && rm -rf debs etc var usr/bin usr/sbin usr/share/doc usr/share/man)
: >"$tree/complete"
