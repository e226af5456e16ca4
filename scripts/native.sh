#!/bin/sh
# Builds the libraries of native/ and the programs of native/programs, or only those named as arguments, into
# $OUT, bin/native if unset: with MPICH's mpicc what includes mpi.h, with the C
# compiler the rest. Folders become shared libraries, which go to $LIB,
# bin/lib/golaunch if unset: golaunch looks for them beside itself. libgolaunch.so.N,
# for programs that use the tree, is made of native/libgolaunch, whose header has N, and
# goes to the directory above. What is newer
# than all that it is made of, headers and this script included, stays; what needs
# a library that is not here is skipped with a message.
# shellcheck disable=SC3013 # dash, bash and busybox have -nt, POSIX since 2024
set -eu
cd "$(dirname "$0")/.."

cc=${CC:-gcc}
mpicc=$(command -v mpicc.mpich || command -v mpicc || true)
openmpi5=$PWD/.cache/openmpi5 # of scripts/openmpi5.sh
multiarch=$("$cc" -print-multiarch 2>/dev/null || true)
out=${OUT:-bin/native}
lib=${LIB:-bin/lib/golaunch}
mkdir -p "$out" "$lib"
[ $# -gt 0 ] || set -- native/libgolaunch native/libmpichfinalize native/libmpiinit native/libpmi native/libprofile native/pmix native/programs/*.c native/programs/*.f90

skip() { echo "native: $1: $2: not built" >&2; }

# fresh PROGRAM FILE...: whether a program is there, and newer than all of the files
# and flags that are files
fresh() {
	made=$1
	shift
	[ -e "$made" ] || return
	for from in "$@" native/*.h native/programs/*.h native/libgolaunch/*.h native/libmpiinit/*.[ch] native/libprofile/*.h native/pmix/*.h scripts/native.sh; do
		if [ -f "$from" ] && ! [ "$made" -nt "$from" ]; then
			return 1
		fi
	done
}

# compile PROGRAM SOURCE COMPILER [FLAG...]
compile() {
	program=$1 source=$2 compiler=$3
	shift 3
	fresh "$program" "$source" "$@" && return
	if ! command -v "$compiler" >/dev/null; then
		skip "$source" "no ${compiler:-mpicc}"
		return
	fi
	echo "$compiler -o $program $source $*"
	"$compiler" -std=gnu11 -O2 -Wall -Wextra -Werror -o "$program" "$source" "$@"
}

# with_tree PROGRAM SOURCE COMPILER: for what uses libgolaunch, in lib beside it or its directory
with_tree() { compile "$@" -Inative/libgolaunch "-L$lib/.." -lgolaunch "-Wl,-rpath,\$ORIGIN/lib:\$ORIGIN/../lib"; }

golaunch_sources=$(printf 'native/libgolaunch/%s.c ' golaunch request wire ops reduce vary message shrink split clusters schedule board)

# sanitized PROGRAM SOURCE: with libgolaunch in it, where mistakes with memory end it
sanitized() {
	# shellcheck disable=SC2086 # one word per source
	compile "$1" "$2" "$cc" $golaunch_sources -Inative/libgolaunch -g -fsanitize=address,undefined -fno-sanitize-recover=all
}

# with_openmpi NAME SOURCE: with Open MPI 4, as NAME.openmpi
with_openmpi() {
	if command -v mpicc.openmpi >/dev/null; then
		compile "$out/$1.openmpi" "$2" mpicc.openmpi
	else
		skip "$2" "no mpicc.openmpi (Debian: libopenmpi-dev)"
	fi
}

# with_openmpi5 NAME SOURCE LIBRARY HEADERS [FLAG]: with a library of Open MPI 5, and with
# its C library, as NAME.openmpi5
with_openmpi5() {
	if [ -e "$openmpi5/complete" ]; then
		libs=$openmpi5/usr/lib/x86_64-linux-gnu
		compile "$out/$1.openmpi5" "$2" "$cc" ${5:+"$5"} "-I$libs/$4/include" "-L$libs" "-l:$3" \
			"-Wl,--allow-shlib-undefined,--disable-new-dtags,-rpath,$libs,--dynamic-linker=$openmpi5/usr/lib64/ld-linux-x86-64.so.2"
	else
		skip "$2" "no Open MPI 5 (scripts/openmpi5.sh)"
	fi
}

# with_ch3 NAME SOURCE: with MPICH's ch3, as NAME.ch3
with_ch3() {
	for mpich in "$PWD"/.cache/mpich-*; do # of scripts/mpich.sh
		if [ -e "$mpich/complete" ]; then
			compile "$out/$1.ch3" "$2" "$mpich/bin/mpicc"
			return
		fi
	done
	skip "$2" "no MPICH with ch3 (scripts/mpich.sh)"
}

# has HEADER: whether the C compiler finds it
has() { echo "#include <$1>" | "$cc" -E - >/dev/null 2>&1; }

for source in "$@"; do
	name=$(basename "$source" .c)
	name=${name%.f90}
	case $name in
	libgolaunch)
		soname=$name.so.$(sed -n 's/^#define GOLAUNCH_VERSION //p' "$source/golaunch.h")
		# shellcheck disable=SC2086 # one word per source
		set -- $golaunch_sources
		first=$1
		shift
		compile "$lib/../$soname" "$first" "$cc" "$@" -shared -fPIC -s "-Wl,-soname,$soname"
		[ ! -e "$lib/../$soname" ] || ln -sf "$soname" "$lib/../$name.so"
		;;
	pmix) # libpmix is opened when it runs
		set -- "$source/answers.c" "$source/frame.c" "$source/infos.c" "$source/known.c" "$source/library.c" "$source/names.c" "$source/owner.c" "$source/pending.c" "$source/query.c" "$source/queue.c" "$source/register.c" "$source/upcalls.c" "$source/world.c"
		if [ -e /lib/x86_64-linux-gnu/libdl.so.2 ] || [ -e /lib64/libdl.so.2 ]; then # for older releases of glibc than this one, too
			[ "$(uname -m)" != x86_64 ] || set -- "$@" "$source/start.c" -include "$source/glibc.h" -nostartfiles -Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0
		fi
		compile "$lib/golaunch-pmix" "$source/main.c" "$cc" "$@" -pthread -ldl -Os -s -fvisibility=hidden -rdynamic -Wl,-z,noseparate-code -Wl,--build-id=none # small: it travels; libpmix finds its accept
		;;
	mpiforsends)
		for abi in mpich openmpi; do
			if command -v "mpifort.$abi" >/dev/null; then
				fresh "$out/$name.$abi" "$source" || "mpifort.$abi" -O1 -J "$out" -o "$out/$name.$abi" "$source"
			else
				skip "$source" "no mpifort.$abi"
			fi
		done
		;;
	libprofile)
		# It finds MPI when it is called: as scripts load it, it must not need MPI.
		flags="-shared -fPIC -s -fvisibility=hidden -Wl,--as-needed -Wl,-z,noseparate-code -Wl,--build-id=none"
		for abi in mpich openmpi; do
			# shellcheck disable=SC2086 # one word per flag
			compile "$lib/$name-$abi.so" "native/$name/profile.c" "mpicc.$abi" "native/$name/book.c" "native/$name/records.c" $flags
		done
		;;
	treetour | treemore | treebreak)
		with_tree "$out/$name" "$source" "$cc"
		sanitized "$out/$name.sanitized" "$source"
		;;
	treebench | treecompute | treesplit | treeswitch | treeschedule | treeleave | treeroom | treestay) with_tree "$out/$name" "$source" "$cc" ;;
	mpitree) with_tree "$out/$name" "$source" "$mpicc" ;;
	libmpiinit) # of no library but the one that has dlsym in older releases of glibc
		compile "$lib/$name.so" "$source/init.c" "$cc" "$source/exec.c" "$source/finalize.c" "$source/next.c" -shared -fPIC -Os -s -fvisibility=hidden -fno-stack-protector -U_FORTIFY_SOURCE \
			-nostdlib -Wl,--no-as-needed -l:libdl.so.2 -Wl,-z,noseparate-code -Wl,--build-id=none
		;;
	libmpichfinalize) compile "$lib/$name.so" "$source/finalize.c" "$cc" native/libmpiinit/next.c -shared -fPIC -Os -s -Wl,-z,noseparate-code -Wl,--build-id=none ;;
	libpmi) compile "$lib/$name.so" "$source/pmi.c" "$cc" -shared -fPIC -Os -s -Wl,-z,noseparate-code -Wl,--build-id=none ;; # small: it travels
	mpisends | profilebench)
		compile "$out/$name" "$source" "$mpicc"
		with_openmpi "$name" "$source"
		;;
	mpihello | mpisum | mpiabort | mpidie | mpihang | mpispawn | mpinames)
		compile "$out/$name" "$source" "$mpicc"
		with_openmpi "$name" "$source"
		with_openmpi5 "$name" "$source" libmpi.so.40 openmpi
		;;
	mpibytes)
		compile "$out/$name" "$source" "$mpicc"
		with_ch3 "$name" "$source"
		with_openmpi "$name" "$source"
		with_openmpi5 "$name" "$source" libmpi.so.40 openmpi
		;;
	mpiworlds) # Debian's MPICH opens no ports
		with_openmpi "$name" "$source"
		with_openmpi5 "$name" "$source" libmpi.so.40 openmpi
		;;
	mpisessions) with_openmpi5 "$name" "$source" libmpi.so.40 openmpi ;; # of MPI 4
	pmixclient)
		if [ -e "/usr/lib/$multiarch/pmix2/include/pmix.h" ]; then
			compile "$out/$name" "$source" "$cc" "-I/usr/lib/$multiarch/pmix2/include" -l:libpmix.so.2
		else
			skip "$source" "no pmix.h (Debian: libpmix-dev)"
		fi
		with_openmpi5 "$name" "$source" libpmix.so.2 pmix2
		;;
	fences) # one for each protocol
		compile "$out/$name.pmi1" "$source" "$cc" -DPMI1
		with_tree "$out/$name.tree" "$source" "$cc"
		if has slurm/pmi2.h; then
			compile "$out/$name.pmi2" "$source" "$cc" -DPMI2 -lpmi2
		else
			skip "$source" "no slurm/pmi2.h (Debian: libpmi2-0-dev)"
		fi
		if [ -e "/usr/lib/$multiarch/pmix2/include/pmix.h" ]; then
			compile "$out/$name.pmix" "$source" "$cc" -DPMIX "-I/usr/lib/$multiarch/pmix2/include" -l:libpmix.so.2
		else
			skip "$source" "no pmix.h (Debian: libpmix-dev)"
		fi
		with_openmpi5 "$name.pmix" "$source" libpmix.so.2 pmix2 -DPMIX
		;;
	mpilate)
		compile "$out/$name" "$source" "$mpicc"
		compile "$out/$name.opened" "$source" "$mpicc" -DOPENED -Wl,--as-needed
		;;
	pmivalues)
		compile "$out/$name" "$source" "$cc" native/libpmi/pmi.c
		# MPICH's PMI is inside its library: only the static one lends it.
		archive=$(${mpicc:-false} -print-file-name=libmpich.a 2>/dev/null || true)
		if [ -f "$archive" ]; then
			compile "$out/$name.mpich" "$source" "$mpicc" "$archive"
		else
			skip "$source" "no libmpich.a (Debian: libmpich-dev)"
		fi
		;;
	pmiinfo) # under sanitizers: it is fed what no server would say
		san=-fsanitize=address,undefined
		echo 'int main(void) { return 0; }' | "$cc" $san -x c -o "$out/$name.try" - 2>/dev/null || san=
		rm -f "$out/$name.try"
		compile "$out/$name" "$source" "$cc" native/libpmi/pmi.c -g $san ${san:+-fno-sanitize-recover=all}
		;;
	pmi2client)
		if has slurm/pmi2.h; then
			compile "$out/$name" "$source" "$cc" -lpmi2
		else
			skip "$source" "no libpmi2 (Debian: libpmi2-0-dev)"
		fi
		;;
	mpitool) compile "$out/$name.so" "$source" "$mpicc" -shared -fPIC ;;
	mpi*) compile "$out/$name" "$source" "$mpicc" ;;
	*) compile "$out/$name" "$source" "$cc" ;;
	esac
done
