#compdef user-events
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Completion of user-events for zsh. The program itself says what fits.

local word=${(Q)PREFIX} found
local -a before candidates

before=("${(@Q)words[2,CURRENT-1]}")
found=$(${(Q)words[1]} --complete "${before[@]}" "$word" 2>/dev/null)
candidates=(${(f)found})
case $found in
'') return 1 ;;
:files) _files ;;
:commands) _command_names -e ;;
*)
	# What follows : or = is still to be typed.
	compadd -S '' -- ${(M)candidates:#*[:=]}
	compadd -- ${candidates:#*[:=]} ;;
esac
