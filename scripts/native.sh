#!/bin/sh
# Builds native/*.c into $OUT, bin/native if unset: with mpicc what includes mpi.h, with the
# C compiler the rest; lib*.c becomes a shared library. What is newer than its
# source stays.
set -eu
cd "$(dirname "$0")/.."

cc=${CC:-gcc}
mpicc=$(command -v mpicc.mpich || command -v mpicc || true)
out=${OUT:-bin/native}
mkdir -p "$out"
for source in native/*.c; do
	program=$out/$(basename "$source" .c)
	flags=
	case $source in
	native/lib*) program=$program.so flags="-shared -fPIC" ;;
	esac
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
	echo "$compiler $flags -o $program $source"
	# shellcheck disable=SC2086 # one word per flag
	"$compiler" $flags -std=gnu11 -O2 -Wall -Wextra -o "$program" "$source"
done
