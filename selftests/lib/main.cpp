// SPDX-License-Identifier: GPL-2.0-only
// The main function of every selftest: Catch2's, which by default writes TAP for `prove`, and fails
// a test case that asserts nothing as well as a selection that no test case matches.
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
