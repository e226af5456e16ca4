#!/bin/sh
# Makes a Debian package of what was built, bin/golaunch_VERSION_ARCH.deb, and prints its
# name:
#
#   [BIN=bin] [VERSION=...] [OUT=bin] scripts/deb.sh
#
# Without VERSION it is that of the last commit. The same commit gives the same bytes.
set -eu
cd "$(dirname "$0")/.."

bin=${BIN:-bin} out=${OUT:-bin}
say() { echo "deb: $*" >&2; }
command -v dpkg-deb >/dev/null || { say "there is no dpkg-deb; install dpkg"; exit 1; }
commit() { git log -1 --format="$1" --date=format:%Y%m%d 2>/dev/null; }
version=${VERSION:-0~git$(commit %cd).$(commit %h)} || { say "this is no git checkout; give VERSION"; exit 1; }
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(commit %ct || date +%s)}
export SOURCE_DATE_EPOCH
arch=$(dpkg --print-architecture)

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
umask 022
chmod 755 "$root"
BIN=$bin PREFIX=/usr DESTDIR=$root scripts/install.sh install

# Where Debian has them.
mkdir -p "$root/usr/share/zsh/vendor-completions" "$root/usr/share/doc/golaunch" "$root/usr/share/lintian/overrides" "$root/DEBIAN"
mv "$root/usr/share/zsh/site-functions/_golaunch" "$root/usr/share/zsh/vendor-completions/"
rmdir "$root/usr/share/zsh/site-functions"
gzip -9n "$root"/usr/share/man/man1/*.1
doc=$root/usr/share/doc/golaunch
gzip -9nc CHANGELOG.md >"$doc/NEWS.gz"
changelog=changelog
case $version in
*-*) changelog=changelog.Debian ;; # with a revision of Debian's it is a log of the package alone
esac
gzip -9n >"$doc/$changelog.gz" <<END
golaunch ($version) unstable; urgency=medium

  * What is new is in NEWS.gz.

 -- golaunch's authors <golaunch@users.noreply.github.com>  $(LC_ALL=C date -uRd "@$SOURCE_DATE_EPOCH")
END
cat >"$doc/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: golaunch
Source: https://github.com/golaunch/golaunch

Files: *
Copyright: $(date -ud "@$SOURCE_DATE_EPOCH" +%Y) golaunch's authors
License: Apache-2.0
 On Debian systems the text of this license is in
 /usr/share/common-licenses/Apache-2.0.
END
cat >"$root/usr/share/lintian/overrides/golaunch" <<END
# One file that runs on any node: the agent travels to nodes with other libraries.
golaunch: statically-linked-binary
# A package made of a checkout closes no bug of Debian's.
golaunch: initial-upload-closes-no-bugs
# The library and what programs are built with come with the launcher that they need.
golaunch: package-name-doesnt-match-sonames
golaunch: link-to-shared-library-in-wrong-package
golaunch: pkg-config-unavailable-for-cross-compilation
# It is preloaded into programs of any C library, and takes what it needs from theirs.
golaunch: library-not-linked-against-libc [usr/lib/golaunch/libmpiinit.so]
END
so=$(cd "$root/usr/lib" && ls libgolaunch.so.*)
echo "libgolaunch ${so##*.} golaunch" >"$root/DEBIAN/shlibs"
echo activate-noawait ldconfig >"$root/DEBIAN/triggers"
cat >"$root/DEBIAN/control" <<END
Package: golaunch
Version: $version
Architecture: $arch
Maintainer: golaunch's authors <golaunch@users.noreply.github.com>
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f 1)
Depends: libc6
Recommends: openssh-client
Suggests: mpich, openmpi-bin
Section: net
Priority: optional
Homepage: https://github.com/golaunch/golaunch
Description: scalable launcher of parallel programs
 golaunch starts the ranks of an unmodified MPI program, or of any other, on
 one machine or on many nodes over SSH. The nodes need nothing but sshd: its
 own agent travels to them, and forms a tree that carries start-up, PMI,
 output, input and signals.
 .
 When anything dies, it ends the job, names the host and the cause, and leaves
 no process behind.
END
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)

package=$out/golaunch_${version}_$arch.deb
dpkg-deb --root-owner-group --build "$root" "$package" >&2
echo "$package"
