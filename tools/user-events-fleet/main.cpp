// SPDX-License-Identifier: GPL-2.0-or-later
// user-events-fleet: brings user events to the engines of fleets. It is what `user-events ship` and
// `user-events serve` run.
#include "commands.hpp"
#include "program.hpp"

#include <sys/prctl.h>

int main(int argc, char** argv) {
    // An instance is in use if the process that its name has has this name, see tracefs.cpp.
    prctl(PR_SET_NAME, "user-events");
    return tool::run_program(tool::fleet_commands, argc, argv);
}
