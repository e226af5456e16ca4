#!/bin/sh
# Runs golangci-lint v2 from .cache/bin or PATH. Without it: go vet and the
# layering test, and how to get it.
set -eu
cd "$(dirname "$0")/.."

go=${GO:-go}
version=v2.15.0
PATH=$PWD/.cache/bin:$PATH
if command -v golangci-lint >/dev/null && golangci-lint version 2>/dev/null | grep -q 'version v\{0,1\}2\.'; then
	exec golangci-lint run ./...
fi
"$go" vet ./...
"$go" test -count=1 ./internal/archtest
if command -v staticcheck >/dev/null; then
	staticcheck ./...
fi
cat >&2 <<EOF
lint: no golangci-lint v2, so only a part was checked. To get it:
  GOBIN=$PWD/.cache/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version
EOF
