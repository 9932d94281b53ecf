// SPDX-License-Identifier: GPL-2.0-or-later
// The option --from DIR of commands that read live records.
#pragma once

#include "cli.hpp"
#include "text/errors.hpp"
#include "tracing/scope.hpp"

#include <fmt/format.h>
#include <string>

namespace tool {

struct from_option {
    std::string directory;

    void declare(arguments& with) {
        with.option("--from", "DIR", directory,
                    "read what an instance records whose files are mounted in this directory");
    }
    bool is_given() const noexcept { return !directory.empty(); }

    /// Throws text::usage_error for options that say what is recorded, or how.
    void require_alone(const tracing::scope& programs, bool has_buffer = false) const {
        if (!is_given())
            return;
        if (!programs.is_all())
            throw text::usage_error("--from excludes --pid, --comm, --exe, --cgroup and --uid",
                                    "--filter 'COMM == \"shop\"' chooses records");
        if (has_buffer)
            throw text::usage_error(
                "--from excludes --buffer",
                "an administrator can change the size: echo KILOBYTES >INSTANCE/buffer_size_kb");
    }
};

} // namespace tool
