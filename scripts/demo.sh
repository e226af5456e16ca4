#!/bin/sh
# The main job, shown: a cluster of 16 nodes on this machine, a 1024-rank plain
# program and an MPICH program over it through real sshd, the tree, the phases.
# Without root the same with agents of this machine. With PROVIDER=docker the nodes
# are containers.
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
	show "cluster up ${PROVIDER:+--provider $PROVIDER }16"
	bin/cluster up --dir "$dir" ${PROVIDER:+--provider "$PROVIDER"} 16
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
	golaunch -n 16 --degree 4 --timing -l "$here/bin/native/mpisum"
else
	echo "demo: no MPI program was built (mpicc is missing)"
fi
