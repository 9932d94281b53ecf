// SPDX-License-Identifier: GPL-2.0-only
#include "record_check.hpp"

#include "text_file.hpp"

#include <iostream>
#include <map>
#include <set>
#include <unistd.h>

using namespace selftest;

namespace stress {

RecordCheck::RecordCheck() : index_(file_.must_register(&word_, 0, counted_command)) {
    // Large enough that no record is overwritten before the check.
    expect(write_text(instance_.path("buffer_size_kb"), "16384"), "the size of the buffer");
    expect(instance_.enable(event_), "enable the counted event");
}

RecordCheck::~RecordCheck() {
    instance_.disable(event_);
}

// Adds up the records of each CPU's buffer: present, overwritten and read ones.
unsigned long RecordCheck::in_buffer() const {
    unsigned long sum = 0;
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
        const std::string path = "per_cpu/cpu" + std::to_string(cpu) + "/stats";
        for (const std::string& line : lines_of(read_text(instance_.path(path))))
            for (const char* label : {"entries: ", "overrun: ", "read events: "})
                if (line.starts_with(label))
                    sum += std::stoul(line.substr(std::string_view(label).size()));
    }
    return sum;
}

unsigned long RecordCheck::lost() const {
    static constexpr std::string_view label = "lost ";
    const std::string line = status_line(counted_name);
    const std::size_t at = line.find(label);
    return at == std::string::npos ? 0 : std::stoul(line.substr(at + label.size()));
}

// Prints how many records of each event are in the buffer (a removed event is shown by its type
// number), and each duplicate record.
void RecordCheck::print_buffer() const {
    std::map<std::string, unsigned long> counts;
    std::set<std::string> seen;
    for (const std::string& line : lines_of(read_text(instance_.path("trace")))) {
        const std::size_t time = line.find(": ");
        if (line.starts_with("#") || time == std::string::npos)
            continue;
        const std::string record = line.substr(time + 2);
        counts[record.substr(0, record.find(':'))]++;
        if (!seen.insert(record).second)
            std::cout << "# duplicate record: " << line << "\n";
    }
    for (const auto& [event, count] : counts)
        std::cout << "# " << count << " records of " << event << "\n";
}

// A writer may be killed after its write and before it has counted the success.
bool RecordCheck::passes(const Shared& shared) {
    const unsigned long recorded = in_buffer();
    const unsigned long missed = lost();
    std::cout << "# counted event: " << shared.begun << " writes begun, " << shared.succeeded
              << " succeeded, " << recorded << " recorded, " << missed << " lost\n";
    const bool good = shared.succeeded > 0 && recorded + missed >= shared.succeeded &&
                      recorded + missed <= shared.begun;
    if (!good)
        print_buffer();
    return good;
}

} // namespace stress
