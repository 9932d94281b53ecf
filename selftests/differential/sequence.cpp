// SPDX-License-Identifier: GPL-2.0-only
#include "sequence.hpp"

#include "text_file.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <linux/membarrier.h>
#include <sstream>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <thread>

using namespace selftest;

namespace differential {

namespace {

constexpr const char* names[] = {"differ_a", "differ_b", "differ_c"};

/// What an event can be made of, and what not.
constexpr const char* formats[] = {
    "",
    " u32 a",
    " u32 a",
    " u32 a;u32 b",
    " u32 a; u32 b;",
    " char[12] a",
    " unsigned char[3] a; s64 b",
    " __rel_loc char[] a",
    " __data_loc u8[] a; u8 b",
    " u8 x; __rel_loc char[] a; u16 y",
    " struct s a 20",
    " unsigned int a; long b",
    " u32",
    " u32 a 4",
    " struct s a",
    " char[0] a",
    " char[1025] a",
    " char[0x10] a",
    " char[99999999999] a",
    " struct s a 4294967294",
    " bool a",
    " u32[4] a",
    " float a",
    ";u32 a",
    " u32 a;",
    ":flag u32 a",
};

/// Whatever the kernel has begun has been done: grace periods, and the work that follows them.
void settle() {
    for (int round = 0; round < 3; round++) {
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

/// The files of the events of a name, those of many formats by age.
std::vector<std::string> directories_of(const std::string& name) {
    std::vector<std::pair<unsigned long, std::string>> found;
    for (const std::string& line : lines_of(selftest::status())) {
        const std::string event = line.substr(0, line.find(' '));
        if (event == name)
            found.emplace_back(0, tracing_file("events/user_events/" + event));
        else if (event.starts_with(name + "."))
            found.emplace_back(1 + std::stoul(event.substr(name.size() + 1), nullptr, 16),
                               tracing_file("events/user_events_multi/" + event));
    }
    std::ranges::sort(found);
    std::vector<std::string> paths;
    paths.reserve(found.size());
    for (const auto& [age, path] : found)
        paths.push_back(path);
    return paths;
}

} // namespace

Sequence::Sequence(unsigned seed, bool in_tree) : engine_(seed), in_tree_(in_tree) {
    files_.fill(-1);
    memory_.protect(PROT_READ, 1);
    munmap(memory_.at(2 * page_size), page_size);
    for (int& file : files_)
        file = ::open(tracing_file("user_events_data").c_str(), O_RDWR | O_CLOEXEC);
}

// The process ends with the sequence, which ends its registrations; its files are closed here, so
// that what persists can be deleted.
Sequence::~Sequence() {
    for (const char* name : names)
        for (const std::string& path : directories_of(name))
            write_text(path + "/enable", "0");
}

void Sequence::run(unsigned operations) {
    for (unsigned left = operations; left > 0 && !parted_; left--)
        act();
}

void Sequence::act() {
    static constexpr struct {
        unsigned weight;
        void (Sequence::*act)();
    } choices[] = {
        {4, &Sequence::open_file},  {3, &Sequence::close_file}, {22, &Sequence::register_event},
        {9, &Sequence::unregister}, {6, &Sequence::remove},     {24, &Sequence::write},
        {16, &Sequence::enable},    {6, &Sequence::line},       {6, &Sequence::status},
        {4, &Sequence::fork_child},
    };
    unsigned at = below(100);
    for (const auto& choice : choices) {
        if (at < choice.weight)
            return (this->*choice.act)();
        at -= choice.weight;
    }
}

void Sequence::open_file() {
    int& slot = files_[below(static_cast<unsigned>(files_.size()))];
    static constexpr int modes[] = {O_RDWR, O_RDWR, O_RDWR, O_RDONLY, O_WRONLY};
    if (slot >= 0)
        ::close(slot);
    slot = ::open(tracing_file("user_events_data").c_str(), one_of(modes) | O_CLOEXEC);
    settle();
    say("open", slot >= 0 ? "a file" : "none");
}

void Sequence::close_file() {
    int& slot = files_[below(static_cast<unsigned>(files_.size()))];
    if (slot >= 0)
        ::close(slot);
    slot = -1;
    settle();
    say("close", "");
}

/// Mostly one of few words in the page that can be written.
std::size_t Sequence::any_offset() {
    switch (below(12)) {
    case 0:
        return page_size + below(4) * 4UL;
    case 1:
        return 2 * page_size + below(4) * 4UL;
    case 2:
        return below(64);
    default:
        return below(6) * 4UL;
    }
}

void Sequence::register_event() {
    static constexpr unsigned flags[] = {0, 0, 0, 0, 2, 2, 1, 3, 4};
    static constexpr unsigned sizes[] = {4, 4, 4, 8, 8, 2};
    static constexpr unsigned lengths[] = {28, 28, 28, 28, 28, 32, 27, 5000};
    const std::size_t offset = any_offset();
    const unsigned size = one_of(sizes);
    const unsigned bit = below(size * 8 + 2);
    const std::string command = std::string(one_of(names)) + one_of(formats);
    struct {
        user_reg reg;
        char tail[8];
    } argument{registration(memory_.at(offset), bit, command.c_str(), size, one_of(flags)), ""};
    argument.reg.size = one_of(lengths);
    argument.tail[0] = static_cast<char>(below(8) == 0);

    const Outcome outcome = Outcome::of(ioctl(any_file(), DIAG_IOCSREG, &argument));
    if (outcome.ok())
        words_.push_back({offset, bit});
    std::ostringstream what;
    what << "register +" << offset << "." << bit << "/" << size << " flags " << argument.reg.flags
         << " size " << argument.reg.size << " tail " << int{argument.tail[0]} << " '" << command
         << "'";
    if (outcome.ok())
        what << " index " << argument.reg.write_index;
    if (!outcome.ok())
        settle();
    say(what.str(), {Call::register_event, offset < page_size, command}, outcome);
}

void Sequence::unregister() {
    Word word{any_offset(), below(32)};
    if (!words_.empty() && below(5) != 0)
        word = words_[below(static_cast<unsigned>(words_.size()))];
    user_unreg argument = unregistration(memory_.at(word.offset), word.bit);
    const Outcome outcome = Outcome::of(ioctl(any_file(), DIAG_IOCSUNREG, &argument));
    settle();
    std::ostringstream what;
    what << "unregister +" << word.offset << "." << word.bit;
    say(what.str(), {Call::unregister}, outcome);
}

// In-tree an event is busy for a grace period more.
void Sequence::remove() {
    const std::string name = one_of(names);
    const int file = any_file();
    const bool several = directories_of(name).size() > 1;
    Outcome outcome = Outcome::of(ioctl(file, DIAG_IOCSDEL, name.c_str()));
    for (int attempt = 0; in_tree_ && attempt < 5 && outcome == fails(EBUSY); attempt++) {
        settle();
        outcome = Outcome::of(ioctl(file, DIAG_IOCSDEL, name.c_str()));
    }
    say("delete " + name, {Call::remove, true, "", 0, several}, outcome);
}

void Sequence::write() {
    static constexpr unsigned sizes[] = {0, 1, 3, 4, 8, 11, 12, 16, 20, 24, 40, 300, 5000};
    const int index = static_cast<int>(below(5)) - (below(10) == 0 ? 3 : 0);
    std::vector<unsigned char> payload(one_of(sizes));
    // Small numbers, so that locations are now and then right.
    for (std::size_t i = 0; i < payload.size(); i++)
        payload[i] = static_cast<unsigned char>(i % 2 || below(3) == 0 ? 0 : below(14));
    iovec parts[] = {{const_cast<int*>(&index), below(20) == 0 ? 3 : sizeof(index)},
                     {payload.data(), payload.size()}};
    const Outcome outcome = Outcome::of(writev(any_file(), parts, 2));
    std::ostringstream what;
    what << "write " << parts[0].iov_len << "+" << payload.size() << " index " << index;
    say(what.str(), {Call::write, true, "", payload.size()}, outcome);
}

void Sequence::enable() {
    const std::string name = one_of(names);
    const std::vector<std::string> paths = directories_of(name);
    const char* state = below(2) ? "1" : "0";
    const unsigned which = below(4);
    if (paths.empty())
        return say("enable " + name, "no such event");
    const std::string& path = paths[which % paths.size()];
    const Outcome outcome = write_text(path + "/enable", state);
    settle();
    say("enable " + name + " " + state, {Call::line}, outcome);
}

// Only the module deletes by "-:name".
void Sequence::line() {
    const std::string text = std::string("u:") + one_of(names) + one_of(formats);
    const Outcome outcome = write_text(tracing_file("dynamic_events"), text, O_APPEND);
    settle();
    say("line '" + text + "'", {Call::line, true, text}, outcome);
}

void Sequence::status() {
    std::vector<std::string> lines;
    for (std::string line : lines_of(selftest::status())) {
        // The module counts lost records as well, and numbers formats without gaps.
        line = line.substr(0, std::min(line.find(" # lost"), line.find("; lost")));
        const std::size_t dot = line.find('.');
        if (dot != std::string::npos)
            line.erase(dot, line.find(' ', dot) - dot);
        lines.push_back(line);
    }
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines)
        text += "|" + line;
    say("status", text);
}

/// The child goes on for a while, and the parent after it.
void Sequence::fork_child() {
    if (!prefix_.empty())
        return;
    const unsigned operations = 1 + below(8);
    std::cout << std::flush;
    const pid_t child = fork();
    if (child < 0)
        throw_errno("fork");
    if (child == 0) {
        prefix_ = "  child: ";
        settle();
        say("begins", "");
        run(operations);
        std::cout << std::flush;
        _exit(parted_);
    }
    int status = 0;
    waitpid(child, &status, 0);
    parted_ = status != 0;
    settle();
    say("child has ended", "");
}

void Sequence::say(const std::string& what, const Call& call, const Outcome& outcome) {
    std::ostringstream answer;
    if (const auto known = known_difference(call, outcome, in_tree_)) {
        answer << "known to differ: " << known->point;
        parted_ |= known->parts;
    } else {
        answer << outcome;
    }
    say(what, answer.str());
}

void Sequence::say(const std::string& what, const std::string& answer) {
    std::cout << prefix_ << what << " -> " << answer << memory() << "\n";
}

std::string Sequence::memory() const {
    std::ostringstream text;
    for (std::size_t offset = 0; offset < 128; offset += 4)
        if (const auto value = *memory_.at<volatile std::uint32_t>(offset))
            text << " +" << offset << "=" << std::hex << value << std::dec;
    return text.str();
}

} // namespace differential
