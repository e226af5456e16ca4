#!/bin/sh
# Installs what building, testing and the demo need and this machine lacks:
# Debian packages and Go modules. Without root, or without apt-get, it says what
# is missing and goes on; tests that need it then say that they skip.
#
# "setup.sh bench" installs the rivals too that only measurements need.
set -eu
cd "$(dirname "$0")/.."

say() { echo "setup: $*" >&2; }

if ! command -v go >/dev/null; then
	say "no 'go' in PATH: install Go 1.26 or later (https://go.dev/dl) and try again"
	exit 1
fi

# Each line: a command, the Debian package that has it, what it is for.
needed='sshd openssh-server the nodes of the test cluster
ssh openssh-client reaching them by hand, and the rivals
ip iproute2 the network of the test cluster
nsenter util-linux the test cluster
tc iproute2 links with a rate
tcpdump tcpdump tests of what goes over the network
ps procps tests of what is left behind
mpiexec.hydra mpich measurements beside Hydra
mpicc.mpich libmpich-dev MPI programs
mpirun.openmpi openmpi-bin programs of another MPI
mpicc.openmpi libopenmpi-dev programs of another MPI
gcc gcc C programs, and the race detector
pkg-config pkg-config programs of the installed library
groff groff the markup of the manual pages
rpmbuild rpm the package that make rpm makes
lintian lintian the package that make deb makes
python3 python3 programs that are scripts
csh tcsh tests of login shells
busybox busybox-static tests of small images and shells
musl-gcc musl-tools tests of images with another libc
fish fish tests of login shells
ksh ksh tests of login shells
mksh mksh tests of login shells
zsh zsh tests of login shells, and of its completion
git git the revision in the binaries
shellcheck shellcheck make lint
ibsim ibsim-utils fabrics without hardware, for tests of routes and node order
opensm opensm routing them
ibnetdiscover infiniband-diags discovering them
ibdmchk ibutils a second opinion on forwarding tables
chromium chromium tests of the page of golaunch report
srun slurm-client a cluster with Slurm, and measurements beside srun
slurmctld slurmctld the same
slurmd slurmd the same
munged munge the same'
if docker info >/dev/null 2>&1; then
	needed="$needed
debootstrap debootstrap the image of nodes that are containers"
	# Compose is a plugin of the client, or a program of its own.
	docker compose version >/dev/null 2>&1 || needed="$needed
docker-compose docker-compose a cluster of containers"
fi
if [ "${1:-}" = bench ]; then
	needed="$needed
pdsh pdsh measurements beside it
clush clustershell measurements beside it
taktuk taktuk measurements beside it"
fi

# Debian has the names mpicc and mpiexec mean Open MPI once it is installed, and
# MPICH without it: what is built and run here uses the names with the suffix.
PATH=$PATH:/usr/sbin:/sbin
packages=
while read -r command package purpose; do
	command -v "$command" >/dev/null && continue
	say "missing: $command (package $package): $purpose"
	case " $packages " in
	*" $package "*) ;;
	*) packages="$packages $package" ;;
	esac
done <<EOF
$needed
EOF

# A C compiler without the C library's headers compiles nothing.
if command -v gcc >/dev/null && ! echo '#include <stdio.h>' | gcc -E - >/dev/null 2>&1; then
	say "missing: stdio.h (package libc6-dev): C programs, and the race detector"
	packages="$packages libc6-dev"
fi

if command -v gcc >/dev/null && ! echo '#include <slurm/pmi2.h>' | gcc -E - >/dev/null 2>&1; then
	say "missing: slurm/pmi2.h (package libpmi2-0-dev): a PMI-2 client that others wrote"
	packages="$packages libpmi2-0-dev"
fi

if command -v ldconfig >/dev/null && ! ldconfig -p | grep -q libjemalloc.so.2; then
	say "missing: libjemalloc.so.2 (package libjemalloc2): a cluster with Grid Engine"
	packages="$packages libjemalloc2"
fi

# What tests start with Debian's own Python and R.
module() { # MODULE PACKAGE
	/usr/bin/python3 -c "import importlib.util as u; exit(not u.find_spec('$1'))" 2>/dev/null && return
	say "missing: $1 of python3 (package $2): MPI programs in Python"
	packages="$packages $2"
}
module mpi4py python3-mpi4py
[ -e /usr/lib/python3/dist-packages/h5py/_debian_h5py_mpi ] || {
	say "missing: h5py with MPI (package python3-h5py-mpi): MPI programs in Python"
	packages="$packages python3-h5py-mpi"
}
[ -e /usr/lib/R/site-library/Rmpi ] || {
	say "missing: Rmpi (package r-cran-rmpi): MPI programs in R"
	packages="$packages r-cran-rmpi"
}

if [ -n "$packages" ]; then
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		say "going on without; as root on Debian: apt-get install$packages"
	else
		say "installing$packages"
		# At run level 1 no daemon is started by its package.
		export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
		apt-get update -qq
		# shellcheck disable=SC2086 # one word per package
		apt-get install -y -qq --no-install-recommends $packages >/dev/null
	fi
fi

go mod download
scripts/openmpi5.sh
scripts/gridengine.sh
scripts/openssh10.sh
