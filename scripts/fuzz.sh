#!/bin/sh
# Runs every fuzz target of the repository for FUZZTIME, two at a time. FUZZPART=2/4 runs
# the second quarter of them; FUZZPART=4 one of four, by the day of the year. Fails at the
# end if one found something; its input is then in the package's testdata/fuzz and is
# tried by "go test" from now on.
set -eu
cd "$(dirname "$0")/.."

go=${GO:-go}
time=${FUZZTIME:-60s}
part=${FUZZPART:-1/1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $part in
*/*) ;;
*) part=$(($(date -u +%j | sed 's/^0*//') % part + 1))/$part ;;
esac

# "FOLDER TARGET", in the order of folders, whose tests are built once. Modules of their own
# are not this one's.
grep -rHo --include='*_test.go' --exclude-dir='.?*' --exclude-dir=deploy '^func Fuzz[A-Za-z0-9_]*' . |
	sed 's|/[^/]*:func | |' | LC_ALL=C sort -u >"$work/all"
awk -v k="${part%/*}" -v of="${part#*/}" -v n="$(wc -l <"$work/all")" 'int((NR - 1) * of / n) == k - 1' "$work/all" >"$work/list"
[ -s "$work/list" ] || { echo "fuzz: no targets found" >&2; exit 1; }
echo "fuzz: $(wc -l <"$work/list") of $(wc -l <"$work/all") targets, $time each (FUZZPART=$part)"

# Each in a process of its own: what it says is shown if it fails.
cat >"$work/one" <<'EOF'
package=$1 target=$2
out=$WORK/$target.$$
"$GO" test -vet=off -run '^$' -fuzz "^$target\$" -fuzztime "$TIME" -fuzzminimizetime 1s -parallel 1 "$package" </dev/null >"$out" 2>&1 || {
	echo "fuzz: $package $target failed:"
	cat "$out"
	exit 1
}
EOF
GO=$go TIME=$time WORK=$work xargs -P 2 -L 1 sh "$work/one" <"$work/list" || exit 1
