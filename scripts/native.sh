#!/bin/sh
# Builds native/*.c into bin/native/: with mpicc what includes mpi.h, with the
# C compiler the rest. What is newer than its source stays.
set -eu
cd "$(dirname "$0")/.."

cc=${CC:-gcc}
mpicc=$(command -v mpicc.mpich || command -v mpicc || true)
mkdir -p bin/native
for source in native/*.c; do
	program=bin/native/$(basename "$source" .c)
	[ "$program" -nt "$source" ] && continue
	compiler=$cc
	if grep -q '^#include <mpi.h>' "$source"; then
		if [ -z "$mpicc" ]; then
			echo "native: $source: no mpicc: not built" >&2
			continue
		fi
		compiler=$mpicc
	fi
	if ! command -v "$compiler" >/dev/null; then
		echo "native: $source: no $compiler: not built" >&2
		continue
	fi
	echo "$compiler -o $program $source"
	"$compiler" -std=gnu11 -O2 -Wall -Wextra -o "$program" "$source"
done
