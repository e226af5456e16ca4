#!/bin/sh
# Runs every fuzz target of the repository for FUZZTIME, one after another.
# Fails at the end if one found something; its input is then in the package's
# testdata/fuzz and is tried by "go test" from now on.
set -eu
cd "$(dirname "$0")/.."

go=${GO:-go}
time=${FUZZTIME:-60s}
list=$(mktemp)
trap 'rm -f "$list"' EXIT

# "go test -list" prints the targets of a package, then a line "ok PACKAGE ...".
"$go" test -list '^Fuzz' ./... >"$list.raw" || { cat "$list.raw"; rm -f "$list.raw"; exit 1; }
awk '/^Fuzz/ { target[n++] = $1 } $1 == "ok" { for (i = 0; i < n; i++) print $2, target[i] } !/^Fuzz/ { n = 0 }' "$list.raw" >"$list"
rm -f "$list.raw"

[ -s "$list" ] || { echo "fuzz: no targets found" >&2; exit 1; }
failed=
while read -r package target; do
	echo "== $package $target ($time)"
	"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" </dev/null || failed="$failed $target"
done <"$list"
[ -z "$failed" ] || { echo "fuzz: failed:$failed" >&2; exit 1; }
