#!/bin/sh
# Runs go test with the arguments after the first, by gotestsum, which prints
# what failed once more at the end. What all tests did goes to bin/tests/NAME.json
# for integration/skips. gotestsum is of one version, in .cache/bin.
set -eu
cd "$(dirname "$0")/.."

go=${GO:-go}
version=v1.13.0
gotestsum=$PWD/.cache/bin/gotestsum
name=$1
shift

if [ ! -x "$gotestsum" ] || [ "$("$gotestsum" --version)" != "gotestsum version $version" ]; then
	GOBIN=${gotestsum%/*} "$go" install "gotest.tools/gotestsum@$version" || {
		echo "gotest: gotestsum $version was not built: have a Go module proxy within reach (go env GOPROXY)" >&2
		exit 1
	}
fi
mkdir -p bin/tests
exec "$gotestsum" --format standard-quiet --hide-summary skipped --jsonfile "bin/tests/$name.json" --raw-command -- "$go" test -json "$@"
