# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Completion of user-events for bash. The program itself says what fits.

_user_events()
{
	local -a words=()
	local line=${COMP_LINE:0:COMP_POINT} word='' breaks='' i

	# bash also separates words at these characters, the program does not.
	[[ $COMP_WORDBREAKS != *:* ]] || breaks+=:
	[[ $COMP_WORDBREAKS != *=* ]] || breaks+='='
	for ((i = 1; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ $breaks && ${#words[@]} -gt 0 &&
			($word == [$breaks]* || ${words[-1]} == *[$breaks]) &&
			($i -lt $COMP_CWORD || $line != *[[:space:]]) ]]; then
			words[-1]+=$word
		else
			words+=("$word")
		fi
	done
	words=("${words[@]//[\'\"\\]/}")
	word=${words[-1]}
	mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" --complete "${words[@]}" 2>/dev/null)
	case ${COMPREPLY[0]-} in
	:files)
		COMPREPLY=()
		compopt -o default 2>/dev/null ;;
	:commands)
		mapfile -t COMPREPLY < <(compgen -c -- "$word") ;;
	*[:=])
		[ ${#COMPREPLY[@]} -gt 1 ] || compopt -o nospace 2>/dev/null ;;
	esac
	# The names of events are whatever a program has chosen.
	for i in "${!COMPREPLY[@]}"; do
		printf -v "COMPREPLY[i]" %q "${COMPREPLY[i]}"
		[ -z "$breaks" ] || COMPREPLY[i]=${COMPREPLY[i]#"${word%"${word##*["$breaks"]}"}"}
	done
}
complete -F _user_events user-events
