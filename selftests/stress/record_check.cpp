// SPDX-License-Identifier: GPL-2.0-only
#include "record_check.hpp"

#include "text_file.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

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

// Of a write that did not return, because its writer was killed, there may be a record, a loss or
// neither.
std::string RecordCheck::problem(const Shared& shared) {
    const unsigned long begun = std::min<unsigned long>(shared.begun, counted_most);
    const std::string label = event_.name() + ": number=";
    std::vector<bool> found(begun);
    unsigned long records = 0, returned = 0, missing = 0, uncertain = 0;
    for (const std::string& line : instance_.trace(event_)) {
        const unsigned long number =
            line.starts_with(label) ? std::stoul(line.substr(label.size())) : begun;
        if (number >= begun)
            return "no writer has made the record " + line;
        if (found[number])
            return "there are two records " + line;
        found[number] = true;
        records++;
    }
    for (unsigned long number = 0; number < begun; number++) {
        const bool has_returned = shared.written.at(number);
        returned += has_returned;
        if (!found[number])
            (has_returned ? missing : uncertain)++;
    }
    const unsigned long buffered = in_buffer(), counted = lost();
    std::cout << "# counted event: " << begun << " writes begun, " << returned << " succeeded, "
              << records << " recorded, " << counted << " lost\n";
    if (returned == 0)
        return "no write has succeeded";
    if (buffered != records)
        return "the buffers have had " + std::to_string(buffered) + " records";
    if (counted < missing || counted > missing + uncertain)
        return std::to_string(missing) + " successful writes have no record, and " +
               std::to_string(uncertain) + " others";
    return "";
}

bool RecordCheck::passes(const Shared& shared) {
    const std::string wrong = problem(shared);
    if (!wrong.empty()) {
        std::cout << "# " << wrong << "\n";
        print_buffer();
    }
    return wrong.empty();
}

} // namespace stress
