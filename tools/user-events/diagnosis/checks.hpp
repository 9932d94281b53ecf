// SPDX-License-Identifier: GPL-2.0-or-later
// The checks of `doctor`; the table in commands/doctor.cpp says in which order they run. They throw
// text::failure if they cannot find out.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tool::diagnosis {

enum class verdict { good, note, bad };

/// What a check has found.
struct finding {
    diagnosis::verdict verdict;
    std::string found;
    /// The command that helps; empty if nothing is wrong.
    std::string remedy;
    /// Whether checks that need this one are left out, because what it looks for is not there.
    bool is_absent = false;
};

inline finding good(std::string found) {
    return {verdict::good, std::move(found), {}};
}

/// Something that is missing, but that not everybody needs.
inline finding note(std::string found, std::string remedy) {
    return {verdict::note, std::move(found), std::move(remedy)};
}

/// The same, for what other checks need.
inline finding absent(std::string found, std::string remedy) {
    return {verdict::note, std::move(found), std::move(remedy), true};
}

inline finding bad(std::string found, std::string remedy) {
    return {verdict::bad, std::move(found), std::move(remedy)};
}

// kernel.cpp: whether this kernel can have user_events.
finding kernel_version();
finding kernel_options();
finding sysctls();

// module.cpp: whether it has them, or how it gets them.
finding module();
finding boot();
finding headers();
finding dkms();
finding secure_boot();
finding lockdown();
finding signature();

// container.cpp: in which container this process is.
finding container();

// access.cpp: what this user may do.
finding tracefs();
finding data_file();
finding device();
finding registering();
finding marks();
finding perf();

// recording.cpp: what is recorded, and whether recording works.
finding number_of_events();
finding lost_records();
finding buffers();
finding left_instances();
finding round_trip();

// tools.cpp: the versions of other programs.
finding trace_cmd();
finding perf_program();
finding bpftrace();

// program.cpp: a program and its events. Throws if there is no such process.
struct named_finding {
    std::string about;
    finding what;
};
std::vector<named_finding> examine_program(int id);

} // namespace tool::diagnosis
