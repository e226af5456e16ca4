#!/bin/sh
# Unpacks Open MPI 5 of Debian 13 into .cache/openmpi5, with its own C library. Once; a
# word to "native.sh" that builds programs against it. With it comes Debian 13's Python,
# with mpi4py. Where apt cannot fetch it, the script says so and goes on: tests that need
# it then say that they skip.
set -eu
cd "$(dirname "$0")/.."

name=openmpi5 program='Open MPI 5' tree=.cache/openmpi5
# The programs' own libraries, and what those are linked with.
packages='libopenmpi40 openmpi-bin openmpi-common libopenmpi-dev libpmix2t64 libpmix-dev
libevent-core-2.1-7t64 libevent-pthreads-2.1-7t64 libhwloc15 libmunge2 libucx0 libfabric1
libpsm2-2 libnuma1 librdmacm1t64 libibverbs1 ibverbs-providers libnl-3-200
libnl-route-3-200 libudev1 libcap2 libgcc-s1 libstdc++6 zlib1g libc6
python3-mpi4py python3.13-minimal libpython3.13-minimal libpython3.13-stdlib libexpat1 libffi8'
. scripts/trixie.sh
! have_trixie || exit 0
unpack_trixie
# Its launcher and daemon, too, run from where they lie.
wrap() {
	cat >"$tree/$1" <<END
#!/bin/sh
export OPAL_PREFIX=$tree/usr PRTE_PREFIX=$tree/usr PMIX_PREFIX=$tree/usr/lib/x86_64-linux-gnu/pmix2
exec $tree/usr/lib64/ld-linux-x86-64.so.2 --argv0 $1 --library-path $tree/usr/lib/x86_64-linux-gnu $tree/usr/bin/$2 "\$@"
END
	chmod +x "$tree/$1"
}
wrap prterun prte
wrap prted prted
rm -rf "$tree/usr/share/doc" "$tree/usr/share/man" "$tree/usr/share/locale" "$tree/usr/lib/x86_64-linux-gnu/gconv"
cat >"$tree/python3" <<END
#!/bin/sh
export OPAL_PREFIX=$tree/usr PYTHONHOME=$tree/usr PYTHONPATH=$tree/usr/lib/python3/dist-packages
exec $tree/usr/lib64/ld-linux-x86-64.so.2 --library-path $tree/usr/lib/x86_64-linux-gnu $tree/usr/bin/python3.13 "\$@"
END
chmod +x "$tree/python3"
done_trixie
