#!/bin/sh
# Installs what was built, or removes it again:
#
#   [BIN=bin] [PREFIX=/usr/local] [DESTDIR=] scripts/install.sh install|uninstall
#
# Below $DESTDIR$PREFIX go golaunch, the agent alone, which travels to nodes, the
# libraries that some MPI programs need, libgolaunch with its header, a file for
# pkg-config and Python's module, for programs that use the tree, the manual pages and
# the completion of three shells. DESTDIR is for packages, whose files are made elsewhere
# than where they will lie.
set -eu
cd "$(dirname "$0")/.."

action=${1:-} bin=${BIN:-bin} prefix=${PREFIX:-/usr/local}
say() { echo "install: $*" >&2; }
fail() { say "$@" && exit 1; }
case $prefix in
/*) to=${DESTDIR:-}$prefix ;;
*) fail "PREFIX is $prefix; give a path from /" ;;
esac

# file MODE NAME COMMAND... installs what the command prints below $to.
case $action in
install)
	[ -x "$bin/golaunch" ] || fail "there is no $bin/golaunch; run make build first"
	contents=$(mktemp)
	trap 'rm -f "$contents"' EXIT
	file() {
		mode=$1 name=$2
		shift 2
		"$@" >"$contents"
		install -D -m "$mode" "$contents" "$to/$name"
	}
	;;
uninstall) file() { rm -f "$to/$2"; } ;;
*) fail "say install or uninstall, not '$action'" ;;
esac

file 755 bin/golaunch cat "$bin/golaunch"
for agent in "$bin"/libexec/golaunch/nla-*; do
	[ ! -f "$agent" ] || file 755 "libexec/golaunch/$(basename "$agent")" cat "$agent"
done
for library in libpmi.so libmpiinit.so libmpichfinalize.so libprofile-mpich.so libprofile-openmpi.so golaunch-pmix; do
	if [ "$action" = install ] && ! [ -f "$bin/lib/golaunch/$library" ]; then
		say "without $library, which was not built"
		continue
	fi
	mode=644
	[ "$library" != golaunch-pmix ] || mode=755 # it is a program
	file "$mode" "lib/golaunch/$library" cat "$bin/lib/golaunch/$library"
done
version=$(sed -n 's/^#define GOLAUNCH_VERSION //p' native/libgolaunch/golaunch.h)
if [ "$action" = install ] && ! [ -f "$bin/lib/libgolaunch.so.$version" ]; then
	say "without libgolaunch.so.$version, which was not built"
else
	file 644 "lib/libgolaunch.so.$version" cat "$bin/lib/libgolaunch.so.$version"
	file 644 include/golaunch.h cat native/libgolaunch/golaunch.h
	file 644 lib/pkgconfig/golaunch.pc sed "s|@prefix@|$prefix|; s|@version@|$version|" native/libgolaunch/golaunch.pc.in
	if [ "$action" = install ]; then
		ln -sf "libgolaunch.so.$version" "$to/lib/libgolaunch.so"
	else
		rm -f "$to/lib/libgolaunch.so"
	fi
fi
for module in python/golaunch/*.py; do
	file 644 "share/golaunch/$module" cat "$module"
done
for page in docs/man/*.in; do
	page=$(basename "$page" .1.in)
	file 644 "share/man/man1/$page.1" scripts/man.sh "$bin/golaunch" "$page"
done
file 644 share/bash-completion/completions/golaunch "$bin/golaunch" completion bash
file 644 share/zsh/site-functions/_golaunch "$bin/golaunch" completion zsh
file 644 share/fish/vendor_completions.d/golaunch.fish "$bin/golaunch" completion fish

if [ "$action" = uninstall ]; then
	python=share/golaunch/python
	rm -rf "$to/$python/golaunch/__pycache__" # Python makes it
	for dir in lib/golaunch libexec/golaunch $python/golaunch $python share/golaunch; do
		[ ! -d "$to/$dir" ] || rmdir "$to/$dir"
	done
fi
