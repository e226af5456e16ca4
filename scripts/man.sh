#!/bin/sh
# Prints golaunch(1): docs/man/golaunch.1.in with the options, exit statuses and
# examples of "golaunch --help", so that the page cannot fall behind.
#
#   scripts/man.sh GOLAUNCH
set -eu
help=$("$1" --help)
cd "$(dirname "$0")/.."

# roff PART prints a part of the help text as roff.
roff() {
	printf '%s\n' "$help" | awk -v part="$1" '
		function plain(s) { gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s); return s ~ /^[.'"'"']/ ? "\\&" s : s }
		# item prints a tagged paragraph for "TAG  TEXT".
		function item(s,    gap) {
			sub(/^ +/, "", s)
			gap = match(s, /   */)
			print ".TP\n.B " plain(substr(s, 1, gap - 1))
			print plain(substr(s, gap + RLENGTH))
		}
		/^Exit status:$/ { section = "status"; next }
		/^[A-Z][A-Za-z\/]*:$/ { section = "options"; if (part == section) print ".SS " substr($0, 1, length($0) - 1); next }
		/^TIME is/ { section = "" }
		section == "" && /^  golaunch / && part == "examples" { print ".PP\n.nf\n" plain($0) "\n.fi" }
		section == part && /^  / { item($0) }
	'
}

while IFS= read -r line; do
	case $line in
	@OPTIONS@) roff options ;;
	@STATUS@) roff status ;;
	@EXAMPLES@) roff examples ;;
	*) printf '%s\n' "$line" ;;
	esac
done <docs/man/golaunch.1.in
