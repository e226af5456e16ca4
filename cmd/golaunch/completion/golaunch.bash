# bash completion for golaunch, printed by 'golaunch completion bash'.

# _golaunch_takes sets takes to what a flag of a command takes: files, dirs,
# "words" and the words, value where it is anything else; to nothing without one.
_golaunch_takes() {
	case "$1 $2" in
@TAKES@
	*) takes= ;;
	esac
}

# _golaunch_words sets words to those up to the cursor. Readline cuts a:2 and
# --cache=hcs in three; here they are one, as they are to golaunch.
_golaunch_words() {
	local line=${COMP_LINE:0:COMP_POINT} i rest word
	words=()
	for ((i = 0; i <= COMP_CWORD; i++)); do
		rest=${line#"${line%%[![:space:]]*}"}
		word=${COMP_WORDS[i]}
		((i == COMP_CWORD)) && word=$rest
		if ((i > 0)) && [[ $rest == "$line" ]]; then
			words[-1]+=$word
		else
			words+=("$word")
		fi
		line=${rest#"$word"}
	done
}

# _golaunch_reply answers with what compgen makes of the arguments for $2, a
# part of the word $1: without what readline takes for words of their own.
_golaunch_reply() {
	local word=$1 part=$2 cuts=${COMP_WORDBREAKS//[^=:]/} cut= found one
	shift 2
	[[ $cuts ]] && cut=${word%"${word##*["$cuts"]}"}
	word=${word%"$part"}
	mapfile -t found < <(compgen "$@" -- "$part")
	for one in "${found[@]}"; do
		one=$word$one
		COMPREPLY+=("${one#"$cut"}")
	done
}

# _golaunch_value completes $2, a part of the word $1, as the value of a flag
# that takes $3.
_golaunch_value() {
	case $3 in
	files) compopt -o filenames && _golaunch_reply "$1" "$2" -f ;;
	dirs) compopt -o filenames && _golaunch_reply "$1" "$2" -d ;;
	words*) _golaunch_reply "$1" "$2" -W "${3#words}" ;;
	esac
}

# _golaunch_programs answers with the programs in PATH that begin with $1.
_golaunch_programs() {
	local IFS=: dir file
	for dir in $PATH; do
		for file in "$dir/$1"*; do
			[[ -f $file && -x $file ]] && COMPREPLY+=("${file##*/}")
		done
	done
}

# _golaunch_argument completes $1 where a command's argument goes: the name of a
# program, or one of the words of $2.
_golaunch_argument() {
	_golaunch_reply "$1" "$1" -W "$2"
	[[ $command == @DEFAULT@ ]] || return
	compopt -o filenames
	case $1 in
	*/*) _golaunch_reply "$1" "$1" -f ;;
	*) _golaunch_reply "$1" "$1" -d && _golaunch_programs "$1" ;;
	esac
}

_golaunch() {
	local words takes names= flags arguments
	_golaunch_words
	local last=$((${#words[@]} - 1)) i=1 command=@DEFAULT@ part=@DEFAULT@
	local word=${words[last]}
	COMPREPLY=()
	if ((last == 1)); then
		names='@NAMES@'
	else
		case ${words[1]} in
		@PATTERN@) command=${words[1]} part=$command i=2 ;;
		esac
	fi
	for (( ; i < last; i++)); do
		case ${words[i]} in
		--)
			if ((++i == last)); then
				_golaunch_argument "$word" ''
				return
			fi
			takes=argument
			;;
		-?*=*) continue ;;
		--?*) _golaunch_takes "$part" "${words[i]}" ;;
		-??*) _golaunch_takes "$part" "-${words[i]}" ;;
		-?) _golaunch_takes "$part" "${words[i]}" ;;
		*) takes=argument ;;
		esac
		case $takes in
		'') ;;
		argument)
			[[ $command == @DEFAULT@ ]] || continue
			while [[ ${words[i]} != : ]]; do
				((++i < last)) || return # to files: these are the program's own
			done
			part=app
			;;
		*)
			if ((++i == last)); then
				_golaunch_value "$word" "$word" "$takes"
				return
			fi
			;;
		esac
	done
	case $part in
@PARTS@
	esac
	case $word in
	--*=*)
		_golaunch_takes "$part" "${word%%=*}"
		_golaunch_value "$word" "${word#*=}" "$takes"
		;;
	-*) _golaunch_reply "$word" "$word" -W "$flags" ;;
	*) _golaunch_argument "$word" "$names $arguments" ;;
	esac
}

complete -o default -F _golaunch golaunch
