// SPDX-License-Identifier: GPL-2.0-only
#include "books.hpp"

#include "text_file.hpp"

#include <iostream>
#include <unistd.h>

using namespace selftest;

namespace stress {

Books::Books() : index_(file_.index_of(&word_, 0, books_command)) {
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

// Who was killed may have written what he was not told of.
bool Books::balance(const World& world) {
    const unsigned long recorded = in_buffer();
    const unsigned long missed = lost();
    std::cout << "# books: " << world.begun << " writes begun, " << world.succeeded
              << " succeeded, " << recorded << " recorded, " << missed << " lost\n";
    return world.succeeded > 0 && recorded + missed >= world.succeeded && recorded <= world.begun;
}

} // namespace stress
