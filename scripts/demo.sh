#!/bin/sh
# The main job, shown: a cluster of 16 nodes on this machine, a 1024-rank plain
# program and an MPICH program over it through real sshd, the tree, the phases.
# Without root the same with agents of this machine.
set -eu
cd "$(dirname "$0")/.."
here=$PWD

show() { printf '\n$ %s\n' "$*"; }

if [ "$(id -u)" != 0 ]; then
	echo "demo: not root, so no test cluster: 16 agents of this machine instead of 16 nodes"
	golaunch() { show "golaunch --nodes 16 $*"; bin/golaunch --nodes 16 "$@"; }
else
	dir=$here/.cache/demo
	mkdir -p .cache
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
	# One rank per node: Debian's MPICH may hang at the end of programs that
	# send between nodes with several.
	# It may hang in MPI_Finalize even so, under Hydra as well: hence the limit.
	status=0
	golaunch -n 16 --degree 4 --timing -l --timeout 20s "$here/bin/native/mpisum" || status=$?
	case $status in
	0) ;;
	124) echo "demo: every sum above is right, but this MPICH hung in MPI_Finalize and was ended" ;;
	*) exit $status ;;
	esac
else
	echo "demo: no MPI program was built (mpicc is missing)"
fi
