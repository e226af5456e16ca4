#!/bin/sh
# Fails for functions and packages that no main reaches, but for those of
# scripts/deadcode.txt, and for lines of that which nothing needs any longer. Mains are
# the commands, the client's examples and those of integration. deadcode is of one
# version, in .cache/bin.
set -eu
cd "$(dirname "$0")/.."

go=${GO:-go}
version=v0.52.0
deadcode=$PWD/.cache/bin/deadcode
mains="./cmd/... ./client/examples/... ./integration/..."

if [ ! -x "$deadcode" ] || ! "$go" version -m "$deadcode" | grep -q "golang.org/x/tools.$version."; then
	GOBIN=${deadcode%/*} "$go" install "golang.org/x/tools/cmd/deadcode@$version" || {
		echo "deadcode: deadcode $version was not built: have a Go module proxy within reach (go env GOPROXY)" >&2
		exit 1
	}
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
module=$("$go" list -m)

# "PACKAGE FUNCTION" for each function, "PACKAGE" for each package.
# shellcheck disable=SC2086 # several words
"$deadcode" $mains >"$work/functions"
sed -n 's|^\(.*\)/[^/]*:[0-9]*:[0-9]*: unreachable func: \(.*\)$|\1 \2|p' "$work/functions" >"$work/dead"
# shellcheck disable=SC2086
"$go" list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' $mains | xargs "$go" list -deps | sort -u >"$work/reached"
"$go" list -f '{{if .GoFiles}}{{.ImportPath}}{{end}}' ./... | sort -u | comm -23 - "$work/reached" | sed "s|^$module/||" >"$work/packages"

# A package of tests has a file that says so, and no function.
while read -r package; do
	for file in "$package"/*.go; do
		case $file in *_test.go) continue ;; esac
		! grep -q '^func ' "$file" || echo "$package"
	done
done <"$work/packages" | sort -u >>"$work/dead"

status=0
sed -n 's/[[:space:]]*#.*//; /./p' scripts/deadcode.txt >"$work/kept"
grep -vxE -f "$work/kept" "$work/dead" >"$work/found" || true
if [ -s "$work/found" ]; then
	echo "deadcode: no main reaches these: delete them, move what only tests use to tests, or give a reason in scripts/deadcode.txt:" >&2
	sed 's/^/  /' "$work/found" >&2
	status=1
fi
while read -r kept; do
	grep -qxE "$kept" "$work/dead" || {
		echo "deadcode: scripts/deadcode.txt: nothing needs \"$kept\"" >&2
		status=1
	}
done <"$work/kept"
exit $status
