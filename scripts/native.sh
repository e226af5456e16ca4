#!/bin/sh
# Builds native/*.c into $OUT, bin/native if unset: with mpicc what includes mpi.h, with the
# C compiler the rest; lib*.c becomes a shared library. What is newer than its
# source stays; what needs a library that is not here is skipped with a message.
set -eu
cd "$(dirname "$0")/.."

cc=${CC:-gcc}
mpicc=$(command -v mpicc.mpich || command -v mpicc || true)
out=${OUT:-bin/native}
mkdir -p "$out"
for source in native/*.c; do
	program=$out/$(basename "$source" .c)
	flags= libs=
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
	if grep -q '^#include <slurm/pmi2.h>' "$source"; then
		if ! echo '#include <slurm/pmi2.h>' | "$compiler" -E - >/dev/null 2>&1; then
			echo "native: $source: no libpmi2 (Debian: libpmi2-0-dev): not built" >&2
			continue
		fi
		libs=-lpmi2
	fi
	echo "$compiler $flags -o $program $source $libs"
	# shellcheck disable=SC2086 # one word per flag
	"$compiler" $flags -std=gnu11 -O2 -Wall -Wextra -o "$program" "$source" $libs
done
