# SPDX-License-Identifier: GPL-2.0-or-later
#
# Completion of user-events for fish. The program itself says what fits.

function __user_events_candidates
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    set -l found ($before[1] --complete $before[2..-1] (string unescape -- $word; or echo $word) 2>/dev/null)
    switch "$found[1]"
        case :files
            __fish_complete_path $word
        case :commands
            __fish_complete_command
        case '*'
            printf '%s\n' $found
    end
end

complete -c user-events -f -a '(__user_events_candidates)'
