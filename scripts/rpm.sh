#!/bin/sh
# Makes an RPM package of what was built, bin/golaunch-VERSION-1.ARCH.rpm, and prints its
# name:
#
#   [BIN=bin] [VERSION=...] [OUT=bin] scripts/rpm.sh
#
# Without VERSION it is that of the last commit. The same commit gives the same files.
set -eu
cd "$(dirname "$0")/.."

bin=$(realpath "${BIN:-bin}") out=${OUT:-bin}
say() { echo "rpm: $*" >&2; }
command -v rpmbuild >/dev/null || { say "there is no rpmbuild; install rpm-build (rpm, on Debian)"; exit 1; }
[ -x "$bin/golaunch" ] || { say "there is no $bin/golaunch; run make build first"; exit 1; }
commit() { git log -1 --format="$1" --date=format:%Y%m%d 2>/dev/null; }
version=${VERSION:-0~git$(commit %cd).$(commit %h)} || { say "this is no git checkout; give VERSION"; exit 1; }
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(commit %ct || date +%s)}
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
BIN=$bin rpmbuild -bb --quiet \
	--define "_topdir $work" --define "source $PWD" --define "packed_version $version" \
	--define "_buildhost golaunch" --define "use_source_date_epoch_as_buildtime 1" \
	--define "clamp_mtime_to_source_date_epoch 1" \
	deploy/golaunch.spec >&2
package=$(basename "$work"/RPMS/*/*.rpm)
mv "$work"/RPMS/*/*.rpm "$out/"
echo "$out/$package"
