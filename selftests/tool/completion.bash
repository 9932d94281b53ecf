# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# completion.bash LINE
#
# Prints what the completion offers at the end of the line, as <WORD> each. bash sets COMP_WORDS
# only where a key is pressed; this separates the words at the same characters.

# shellcheck source=/dev/null
. /tool/user-events.bash
COMP_LINE=$1
COMP_POINT=${#1}
mapfile -t COMP_WORDS < <(grep -oE "[:=]|[^ :=]+" <<<"$1")
[[ $1 != *' ' ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_user_events
printf '<%s>\n' "${COMPREPLY[@]}"
