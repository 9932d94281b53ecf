// SPDX-License-Identifier: GPL-2.0-only
#include "faults.hpp"

#include "text_file.hpp"

#include <fcntl.h>
#include <stdexcept>

namespace selftest {

namespace {

/// Where a kernel that is put at a random place puts modules (x86_64).
constexpr const char* modules_begin = "0xffffffffc0000000";
constexpr const char* modules_end = "0xffffffffff000000";

/// Where a function of the kernel begins and ends, its name perhaps with a suffix of the
/// compiler's.
struct Range {
    std::string begin, end;
};

Range function_range(const std::string& name) {
    const auto address = [](const std::string& line) { return "0x" + line.substr(0, 16); };
    Range range;
    for (const std::string& line : lines_of(read_text("/proc/kallsyms"))) {
        // "ffffffff81234560 t name", in the order of addresses.
        if (!range.begin.empty() && address(line) != range.begin) {
            range.end = address(line);
            return range;
        }
        const std::string symbol = line.size() > 19 ? line.substr(19) : "";
        if (symbol == name || symbol.starts_with(name + "."))
            range.begin = address(line);
    }
    throw std::runtime_error("the kernel has no " + name);
}

struct Setting {
    const char* file;
    std::string value;
};

void set(const std::string& file, const std::string& value) {
    expect(write_text("/sys/kernel/debug/" + file, value), file);
}

/// Only what happens in a module counts: the kernel's own faults in want of memory are not the
/// test's subject. One of these is in the module's way: where there is no memory for a field of any
/// new event, the kernel warns, and then of the event's end, too. The kernel is to say nothing
/// about it, as its log is read for complaints.
void have_all_fail() {
    const Range warns = function_range("event_define_fields");
    const Setting common[] = {
        {"verbose", "0"},
        {"stacktrace-depth", "32"},
        {"require-start", modules_begin},
        {"require-end", modules_end},
        {"reject-start", warns.begin},
        {"reject-end", warns.end},
    };
    // Without these only few allocations can fail: none that may wait, no single pages.
    const Setting further[] = {
        {"failslab/ignore-gfp-wait", "N"},
        {"fail_page_alloc/ignore-gfp-wait", "N"},
        {"fail_page_alloc/ignore-gfp-highmem", "N"},
        {"fail_page_alloc/min-order", "0"},
    };
    for (const char* kind : {"failslab/", "fail_page_alloc/", "fail_usercopy/"})
        for (const Setting& setting : common)
            set(std::string(kind) + setting.file, setting.value);
    for (const Setting& setting : further)
        set(setting.file, setting.value);
}

std::string file_of(pid_t task) {
    return task ? "/proc/" + std::to_string(task) + "/fail-nth" : "/proc/thread-self/fail-nth";
}

} // namespace

Faults::Faults(pid_t task) : file_(Descriptor::open(file_of(task), O_RDWR)) {
    static const bool once = (have_all_fail(), true);
    static_cast<void>(once);
}

void Faults::arm(unsigned n) {
    const std::string text = std::to_string(n);
    if (pwrite(file_.number(), text.data(), text.size(), 0) < 0)
        throw_errno("write fail-nth");
}

bool Faults::disarm() {
    char text[16] = "";
    if (pread(file_.number(), text, sizeof(text) - 1, 0) < 0)
        throw_errno("read fail-nth");
    arm(0);
    return text[0] == '0';
}

Attempt Faults::attempt(unsigned n, const std::function<Outcome()>& call) {
    Attempt result;
    arm(n);
    result.error = call().error();
    result.hit = disarm();
    if (result.error != 0)
        result.again = call().error();
    return result;
}

NoPages::NoPages(unsigned count) {
    have_all_fail();
    // Where the kernel touches a program's memory for somebody else.
    const Range touches = function_range("__get_user_pages");
    const Setting settings[] = {
        {"require-start", touches.begin},
        {"require-end", touches.end},
        {"space", "0"},
        {"times", std::to_string(count)},
        {"interval", "1"},
        {"probability", "100"},
    };
    for (const Setting& setting : settings)
        set(std::string("fail_page_alloc/") + setting.file, setting.value);
}

NoPages::~NoPages() {
    set("fail_page_alloc/probability", "0");
    have_all_fail();
}

unsigned NoPages::left() const {
    return static_cast<unsigned>(std::stoul(read_text("/sys/kernel/debug/fail_page_alloc/times")));
}

} // namespace selftest
