// SPDX-License-Identifier: GPL-2.0-only
#include "books.hpp"

#include "text_file.hpp"

#include <iostream>
#include <map>
#include <set>
#include <unistd.h>

using namespace selftest;

namespace stress {

Books::Books() : index_(file_.index_of(&word_, 0, books_command)) {
    // Large enough that nothing is overwritten before it has been looked at.
    expect(write_text(instance_.path("buffer_size_kb"), "16384"), "the size of the buffer");
    expect(instance_.enable(event_), "enable the books");
}

Books::~Books() {
    instance_.disable(event_);
}

// Of each CPU's buffer: what is there, what was overwritten, what was read.
unsigned long Books::in_buffer() const {
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

unsigned long Books::lost() const {
    static constexpr std::string_view label = "lost ";
    const std::string line = status_line(books_name);
    const std::size_t at = line.find(label);
    return at == std::string::npos ? 0 : std::stoul(line.substr(at + label.size()));
}

// What is in the buffer by event, in numbers (those that are gone by the number they had), and the
// records that are there twice.
void Books::print_buffer() const {
    std::map<std::string, unsigned long> counts;
    std::set<std::string> seen;
    for (const std::string& line : lines_of(read_text(instance_.path("trace")))) {
        const std::size_t time = line.find(": ");
        if (line.starts_with("#") || time == std::string::npos)
            continue;
        const std::string record = line.substr(time + 2);
        counts[record.substr(0, record.find(':'))]++;
        if (!seen.insert(record).second)
            std::cout << "# books: again " << line << "\n";
    }
    for (const auto& [event, count] : counts)
        std::cout << "# books: " << count << " of " << event << "\n";
}

// Who was killed may have written what he was not told of.
bool Books::balance(const World& world) {
    const unsigned long recorded = in_buffer();
    const unsigned long missed = lost();
    std::cout << "# books: " << world.begun << " writes begun, " << world.succeeded
              << " succeeded, " << recorded << " recorded, " << missed << " lost\n";
    const bool good =
        world.succeeded > 0 && recorded + missed >= world.succeeded && recorded <= world.begun;
    if (!good)
        print_buffer();
    return good;
}

} // namespace stress
