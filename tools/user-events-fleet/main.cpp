// SPDX-License-Identifier: GPL-2.0-or-later
// user-events-fleet: brings user events to the engines of fleets. It is what `user-events ship` and
// `user-events serve` run.
#include "commands.hpp"
#include "program.hpp"

#include <sys/prctl.h>

int main(int argc, char** argv) {
    // An instance is in use if the process that its name has has this name, see tracefs.cpp.
    prctl(PR_SET_NAME, "user-events");
    // Headers may be secret. Without this, the other service, which runs as the same user, could
    // read the memory of this process, and reach its files by /proc/PID/root; a core dump would
    // have it too.
    prctl(PR_SET_DUMPABLE, 0);
    return tool::run_program(tool::fleet_commands, argc, argv);
}
