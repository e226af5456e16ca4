#!/bin/sh
# Lints the code with golangci-lint and deadcode, the scripts with shellcheck, and go.mod.
# golangci-lint is of one version, in .cache/bin, and built when it is not there.
set -eu
cd "$(dirname "$0")/.."

go=${GO:-go}
version=v2.15.0
lint=$PWD/.cache/bin/golangci-lint

fail() {
	echo "lint: $*" >&2
	exit 1
}

command -v shellcheck >/dev/null || fail "no shellcheck: as root on Debian: apt-get install shellcheck"
if [ ! -x "$lint" ] || [ "$("$lint" version --short)" != "${version#v}" ]; then
	echo "lint: building golangci-lint $version in .cache/bin; 3 minutes" >&2
	GOBIN=${lint%/*} "$go" install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version" ||
		fail "golangci-lint $version was not built: have a Go module proxy within reach (go env GOPROXY), or put the release into .cache/bin"
fi

# All of them, whatever one finds.
status=0
"$lint" run ./... || status=1
scripts/deadcode.sh || status=1
shellcheck scripts/*.sh deploy/*.sh .ci/run || status=1
"$go" mod tidy -diff || {
	echo "lint: go.mod or go.sum is not tidy: run '$go mod tidy'" >&2
	status=1
}
exit $status
