// SPDX-License-Identifier: GPL-2.0-or-later
// user-events-fleet: brings user events to the engines of fleets. It is what `user-events ship` and
// `user-events serve` run.
#include "commands.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
    return tool::run_program(tool::fleet_commands, argc, argv);
}
