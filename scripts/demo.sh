#!/bin/sh
# The main job, shown: a cluster of 16 nodes on this machine, a 1024-rank plain
# program and an MPICH program over it through real sshd, the tree, the phases.
# Without root the same with agents of this machine.
set -eu
cd "$(dirname "$0")/.."
here=$PWD

show() { printf '\n$ %s\n' "$*" >&2; } # beside the output, which may go to a file

mkdir -p .cache

if [ "$(id -u)" != 0 ]; then
	echo "demo: not root, so no test cluster: 16 agents of this machine instead of 16 nodes"
	golaunch() { show "golaunch --nodes 16 $*"; bin/golaunch --nodes 16 "$@"; }
else
	dir=$here/.cache/demo
	show "cluster up 16"
	bin/cluster up --dir "$dir" 16
	trap 'bin/cluster down --dir "$dir"' EXIT
	golaunch() {
		show "golaunch -f hosts $*"
		bin/cluster exec --dir "$dir" head -- "$here/bin/golaunch" -f "$dir/hosts" --ssh-config "$dir/ssh_config" "$@"
	}
fi

golaunch --dry-run -n 1024 -N 64 --degree 4 hostname
golaunch -n 1024 -N 64 --degree 4 --timing hostname >.cache/demo.out
echo "ranks on each node:"
sort .cache/demo.out | uniq -c
rm -f .cache/demo.out
if [ -x bin/native/mpisum ]; then
	# Debian's MPICH 4.0.2 hangs in MPI_Finalize when its ranks have talked over
	# TCP; the preloaded library ends that (see native/libmpichfinalize.c).
	golaunch -n 16 --degree 4 --timing -l -x LD_PRELOAD="$here/bin/native/libmpichfinalize.so" "$here/bin/native/mpisum"
else
	echo "demo: no MPI program was built (mpicc is missing)"
fi
