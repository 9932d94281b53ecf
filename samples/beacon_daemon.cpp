// SPDX-License-Identifier: MIT
//
// A daemon: it starts a process in the background, which closes all descriptors, those of the
// library too. The library finds that out and opens its file again, so nothing is lost.
//
//	beacon_daemon [BEACONS]
#include <user_events/user_events.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static user_events::event<"beacon", user_events::field<"number", std::uint32_t>> beacon;

int main(int argc, char* argv[]) {
    const auto beacons = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 3);
    const pid_t child = fork();
    if (child < 0) {
        std::perror("fork");
        return 1;
    }
    if (child > 0) {
        // A real daemon's parent exits here. This one waits, so that a script can use it.
        int status = 0;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    setsid();
    closefrom(0);
    open("/dev/null", O_RDWR);
    dup(0);
    dup(0);
    for (std::uint32_t number = 1; number <= beacons; number++)
        beacon(number);
    return beacon.lost() == 0 ? 0 : 1;
}
