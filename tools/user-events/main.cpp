// SPDX-License-Identifier: GPL-2.0-or-later
// user-events: sees, records, keeps and looks at the events of user programs.
#include "commands/commands.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
    return tool::run_program(tool::commands, argc, argv);
}
