# fish completion for golaunch, printed by 'golaunch completion fish'.

# __golaunch_place prints what goes at the cursor: flags of a command (or app,
# after a lone colon) and its arguments; nothing where words are a program's own.
function __golaunch_place
    set -l valued @VALUED@
    set -l words (commandline -opc)
    set -e words[1]
    set -l place @DEFAULT@
    if contains -- "$words[1]" @NAMES@
        set place $words[1]
        set -e words[1]
    end
    while set -q words[1]
        set -l word $words[1]
        set -e words[1]
        if test "$word" != --; and string match -qr -- '^-.' $word
            if contains -- $word $valued
                set -e words[1]
            end
            continue
        end
        contains -- $place @DEFAULT@ app; or continue
        if test "$word" = --; and not set -q words[1]
            echo program
            return
        end
        set -l colon (contains -i -- : $words); or return
        set -e words[1..$colon]
        set place app
    end
    echo $place
end

# __golaunch_at tells whether the cursor is at one of these places.
function __golaunch_at
    contains -- (__golaunch_place) $argv
end

# __golaunch_first tells whether it is at the first word.
function __golaunch_first
    test (count (commandline -opc)) = 1
end

complete -c golaunch -n '__golaunch_at @DEFAULT@ app program' -x -a '(__fish_complete_command)'
@COMMANDS@
@ARGUMENTS@
@FLAGS@
