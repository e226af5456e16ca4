#compdef golaunch
# zsh completion for golaunch, printed by 'golaunch completion zsh'.

_golaunch() {
	local curcontext=$curcontext state line
	typeset -A opt_args
	local -a commands=(
@COMMANDS@
	)
	if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
		_describe -t commands command commands
	fi
	if (( CURRENT > 2 )); then
		case $words[2] in
		@PATTERN@)
			shift words
			(( CURRENT-- ))
			;;
		esac
	fi
	case $words[1] in
@ARGUMENTS@
	esac
}

# Loaded from fpath this file is the function; sourced, it defines it.
if [[ $funcstack[1] == _golaunch ]]; then
	_golaunch "$@"
else
	compdef _golaunch golaunch
fi
