package stage

import (
	"strings"
	"sync"
)

// The candidates for the agent's directory, by the numbers that script knows
// them by. Kept agents go where they outlive the login first: XDG_RUNTIME_DIR
// is emptied when the last session ends.
const (
	onceOrder = "1 2 3 4" // XDG_RUNTIME_DIR, /dev/shm, /tmp, HOME/.cache
	keptOrder = "3 2 4 1"
)

// script runs on the host (docs/architecture.md). It talks on standard output,
// in lines that begin with the magic:
//
//	reads              (loader) we send the script
//	lacks COMMAND PATH it needs a command that no directory of PATH has
//	here               from now on it makes files
//	skip DIR: REASON   a candidate will not do
//	none               no candidate will
//	need UNAME         ready for the executable; we answer "SIZE HASH push" and
//	                   the bytes, or "SIZE HASH ask" where a kept file may do
//	send               (after ask) there is none: we send the bytes
//	deaf               there was no answer, or no script, and never will be
//	full I REASON      candidate I did not take the bytes
//	got                all is written; we answer "go"
//	have               a kept or installed file is run, at once
//
// After "go" or "have" the agent's own output begins. An early end of the conversation
// (end of input, a signal) removes the files made; where the script is killed
// sweepScript does, which knows the names by the magic. They end in random characters
// of the host's kernel, so that nobody who sees the command line can be there first.
//
// Its words are the two halves of the magic, the uname and (to keep it) hash of
// our own executable, "keep" or nothing, the candidates, an installed agent's path (or
// nothing) with its "SIZE MTIME", then the agent's words.
//
// A shell is given loader, which says that it reads, and this as its first line of input:
// command lines are seen in every list of processes and in audit logs, and the client that
// enters a container has one for as long as the job runs.
//
// It is one line without single quotes, exclamation marks and backslashes, so
// that quoting it means the same to Bourne shells, csh and fish. It runs in
// dash, bash and busybox alike, and forks as little as it can: uname, mkdir,
// chmod, dd, mv for kept files and stat for an installed one. In particular
//   - a file is tried by running it with a shell command inside: a kernel that
//     forbids execution there says so (EACCES) before it finds no program
//     format (ENOEXEC), on which the shell just reads the file;
//   - dd takes the bytes, 128 KiB at a time, where it knows how to take a number of
//     them; head does elsewhere, a few KiB at a time, which costs a tenth of a start
//     more;
//   - `got` and `go` are there because head may have read ahead (busybox's
//     does), so nothing may follow the bytes before it is done, and because a
//     copy cut short looks complete to it, and to dd;
//   - descriptor 3 of what makes files is standard output: should the script be
//     killed, that ends with the last of them, and sweepScript does not come
//     too early;
//   - whatever it becomes has the magic in its command line, by which sweepScript
//     finds it: a copied agent in the name of its file, others behind StartWord;
//   - an installed file is run only if it is no link and nobody but its owner
//     can write it or, in its directory, put another in its place, and both
//     owners are us or root: any other might have been planted. Whether it fits
//     the platform is left to show, for the sake of the one fork less;
//   - a shell's own echo may say of a full directory no more than "I/O error":
//     a command that writes there says why;
//   - a directory that is reused is entered first and checked from within, by
//     its true path and owner: nobody can exchange it behind our back.
var script = sync.OnceValue(func() string {
	return strings.Replace(frugal, `"$GOMAXPROCS"`, `"${`+processors+`-$GOMAXPROCS}"`, 1) + strings.Join(strings.Fields(`
set -f; a=$1$2 w=$3 h=$4 k=$5 o=$6 l=$7 m=$8; shift 8; t= d= g= u= v= b= p=$PWD;
q() {
	if [ "$t" ] && [ -e "$t" ] && [ -O "$d" ]; then [ -L "$d" ] || rm -rf "$t"; fi;
	if [ "$b" ]; then rmdir "$b" 2> /dev/null; fi;
};
trap q 0; trap "exit 1" 1 2 13 15;
if [ "$l" ] && [ -x "$l" ]; then
	j=${l%/*}; [ "$j" ] || j=/;
	y=$(stat -c "%s %Y %A %u /" "$l" "$j" 2> /dev/null); z=${y#*/}; y=${y%%/*};
	case $y in "$m -"????-??-?" 0 ") g=0;; "$m -"????-??-?" "*) if [ -O "$l" ]; then g=0; fi;; esac;
	case $z in *" d"????-??-?" 0 /") ;; *" d"????-??-?" "*) [ -O "$j" ] || g=;; *) g=;; esac;
	if [ "$g" ]; then echo "$a have"; exec "$l" `+StartWord+` "$a" "$@"; fi;
fi;
for y in uname mkdir chmod head rm ${k:+mv}; do
	command -v $y > /dev/null || { echo "$a lacks $y $PATH"; exit 1; };
done;
s=$(uname -sm);
if [ "$k" ]; then
	while read -r y u z; do if [ "$y" = Uid: ]; then break; fi; done < /proc/$$/status;
	[ "$u" ] || u=$(id -u);
fi;
x() {
	cd "$p" || cd /;
	if [ "$k" ]; then exec "$f" `+StartWord+` "$a" --hash "$h" "$@"; fi;
	exec "$f" --unlink "$f" ${b:+`+EmptyWord+` "$b"} --hash "$h" "$@";
};
kept() { [ -f "$1" ] && [ -O "$1" ] && [ -x "$1" ]; };
private() {
	y=$(stat -c %A . 2> /dev/null);
	case $y in d????-??-?) if [ -O . ]; then return 0; fi;; esac;
	if [ -w . ]; then echo others may remove files there; else echo we may not write there; fi;
	return 1;
};
prep() {
	[ "$c" ] || { echo not set; return 1; };
	if [ $i = 4 ] && [ "$c" ]; then [ -d "$c" ] || mkdir -p -m 700 "$c" || return 1; fi;
	cd -P "$c" || return 1;
	case $i in
	2|3) [ -k . ] || private || return 1;;
	*) [ -O . ] || { echo not owned by us; return 1; };;
	esac;
	[ "$k" ] || { mkdir -m 700 "golaunch-$a-$v" && cd -P "golaunch-$a-$v" && try nla; return; };
	n=$PWD; d=golaunch-$u;
	[ -d "$d" ] || mkdir -m 700 "$d" || [ -d "$d" ] || return 1;
	cd -P "$d" && [ "$PWD" = "$n/$d" ] && [ -O . ] || { echo "$d" there is not a directory of ours; return 1; };
	if [ "$s" = "$w" ] && kept "nla-$h"; then return 42; fi;
	try "part-$a";
};
try() { { { echo exit 0 > "$1"; } 2> /dev/null || { uname > "$1"; return 1; }; } && chmod 700 . "$1" && "./$1"; };
{ read -r v < /proc/sys/kernel/random/uuid; } 2> /dev/null;
echo "$a here";
for i in $o; do
	case $i in
	1) c=$XDG_RUNTIME_DIR n=XDG_RUNTIME_DIR;;
	2) c=/dev/shm;;
	3) c=/tmp;;
	4) c=${HOME:+$HOME/.cache} n=HOME/.cache;;
	esac;
	n=${c:-$n};
	if [ "$k" ]; then d=$c/golaunch-$u; f=$d/part-$a t=$d/part-$a; else d=$c/golaunch-$a-$v; f=$d/nla t=$d; fi;
	if [ "$c" ] && [ $i = 4 ]; then [ -e "$c" ] || b=$c; fi;
	{ r=$(prep 2>&1); } 3>&1; e=$?;
	if [ $e = 0 ]; then g=$i; break; fi;
	if [ $e = 42 ]; then f=$d/nla-$h t=; echo "$a have"; x "$@"; fi;
	q; t=;
	echo "$a skip $n:" $r;
done;
[ "$g" ] || { echo "$a none"; exit 1; };
echo "$a need $s";
read -r n h y || { echo "$a deaf"; exit 1; };
if [ "$y" = ask ]; then
	if kept "$d/nla-$h"; then q; f=$d/nla-$h t=; echo "$a have"; x "$@"; fi;
	echo "$a send";
fi;
z="dd bs=131072 iflag=fullblock,count_bytes status=none";
{ if $z count=0 < /dev/null 2> /dev/null; then r=$($z count="$n" 2>&1 > "$f"); else r=$(head -c "$n" 2>&1 > "$f"); fi; } 3>&1 || { echo "$a full $g $c:" $r; exit 1; };
echo "$a got";
read -r y && [ "$y" = go ] || exit 1;
if [ "$k" ]; then mv -f "$f" "$d/nla-$h" || exit 1; f=$d/nla-$h t=; fi;
x "$@"
`), " ")
})

// loader is the part of script that is in command lines, and reads the rest. It has no quotes
// and the like that script has not.
const loader = `echo "$1$2 reads"; if IFS= read -r s; then eval "$s"; else echo "$1$2 deaf"; fi`
