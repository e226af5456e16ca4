#!/bin/sh
# Prints a manual page: docs/man/PAGE.1.in with the options, commands, exit statuses
# and examples of the command's help, so that the page cannot fall behind.
#
#   scripts/man.sh GOLAUNCH [PAGE]
#
# PAGE is golaunch, or golaunch-COMMAND.
set -eu
page=${2:-golaunch}
case $page in
golaunch) help=$("$1" --help) ;;
*) help=$("$1" "${page#golaunch-}" --help) ;;
esac
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
		/^Commands:$/ { section = "commands"; next }
		/^Topics:$/ { section = "topics"; next }
		/^Flags:$/ { section = "options"; next }
		/^[A-Z][A-Za-z\/]*:$/ { section = "options"; if (part == section) print ".SS " substr($0, 1, length($0) - 1); next }
		/^TIME is/ { section = "" }
		section == "" && /^  golaunch / && part == "examples" { print ".PP\n.nf\n" plain($0) "\n.fi" }
		section == part && /^  / { item($0) }
	'
}

# text TOPIC prints a text that help has as well.
text() {
	awk '
		{ gsub(/\\/, "\\e"); gsub(/-/, "\\-") }
		/^  / { if (!asis) print ".PP\n.RS\n.nf"; asis = 1; sub(/^  /, ""); print; next }
		asis { print ".fi\n.RE"; asis = 0 }
		/^$/ { gap = 1; next }
		gap { print ".PP"; gap = 0 }
		{
			gsub(/\\-\\-[a-z]+(\\-[a-z]+)*|[A-Z]+_[A-Z_]+/, "\\fB&\\fR")
			print
		}
	' "cmd/golaunch/topics/$1.txt"
}

while IFS= read -r line; do
	case $line in
	@OPTIONS@) roff options ;;
	@COMMANDS@) roff commands ;;
	@TOPICS@) roff topics ;;
	@STATUS@) roff status ;;
	@EXAMPLES@) roff examples ;;
	"@TEXT "*@) line=${line#"@TEXT "} && text "${line%@}" ;;
	*) printf '%s\n' "$line" ;;
	esac
done <"docs/man/$page.1.in"
