// SPDX-License-Identifier: GPL-2.0-only
// The main function of every selftest. It runs Catch2 with TAP output, for `prove`. A test case
// without an assertion is a failure, and so is a selection that matches no test case.
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

#if __has_include(<catch2/catch_all.hpp>)

int main(int argc, char* argv[]) {
    Catch::Session session;
    const int error = session.applyCommandLine(argc, argv);
    if (error != 0)
        return error;
    Catch::ConfigData& config = session.configData();
    // A default that is set earlier would remain when the command line names another one.
    if (config.reporterSpecifications.empty())
        config.reporterSpecifications.push_back(Catch::ReporterSpec("tap", {}, {}, {}));
    config.warnings = static_cast<Catch::WarnAbout::What>(Catch::WarnAbout::NoAssertions |
                                                          Catch::WarnAbout::UnmatchedTestSpec);
    return session.run();
}

#else
#include <catch2/catch_reporter_tap.hpp>

int main(int argc, char* argv[]) {
    Catch::Session session;
    session.configData().reporterName = "tap";
    session.configData().warnings = static_cast<Catch::WarnAbout::What>(
        Catch::WarnAbout::NoAssertions | Catch::WarnAbout::NoTests);
    return session.run(argc, argv);
}

#endif
