// SPDX-License-Identifier: GPL-2.0-only
// The main function of every selftest. It runs Catch2 with TAP output, for `prove`. A test case
// without an assertion is a failure, and so is a selection that matches no test case.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <catch2/catch_reporter_tap.hpp>

int main(int argc, char* argv[]) {
    Catch::Session session;
    session.configData().reporterName = "tap";
    session.configData().warnings = static_cast<Catch::WarnAbout::What>(
        Catch::WarnAbout::NoAssertions | Catch::WarnAbout::NoTests);
    return session.run(argc, argv);
}
