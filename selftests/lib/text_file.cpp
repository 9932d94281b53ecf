// SPDX-License-Identifier: GPL-2.0-only
#include "text_file.hpp"

#include "descriptor.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sstream>

namespace selftest {

std::string read_text(const std::string& path) {
    Descriptor file = Descriptor::open(path, O_RDONLY);
    std::string text;
    char piece[16384];
    ssize_t size;
    while ((size = read(file.number(), piece, sizeof(piece))) > 0)
        text.append(piece, static_cast<std::size_t>(size));
    if (size < 0)
        throw_errno("read " + path);
    return text;
}

Outcome write_text(const std::string& path, std::string_view text, int flags) {
    int number = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags);
    if (number < 0)
        return Outcome::of(number);
    Outcome written = Outcome::of(::write(number, text.data(), text.size()));
    Outcome closed = Outcome::of(::close(number));
    return closed.ok() ? written : closed;
}

Outcome write_line(const std::string& path, const std::string& line) {
    const Outcome outcome = write_text(path, line + "\n", O_APPEND);
    return outcome.ok() ? succeeds() : outcome;
}

bool exists(const std::string& path) {
    return access(path.c_str(), F_OK) == 0;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

bool has_line(const std::string& text, std::string_view line) {
    const auto lines = lines_of(text);
    return std::ranges::find(lines, line) != lines.end();
}

} // namespace selftest
