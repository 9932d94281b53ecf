// SPDX-License-Identifier: GPL-2.0-only
#include "faults.hpp"

#include "text_file.hpp"

#include <fcntl.h>
#include <stdexcept>

namespace selftest {

namespace {

/// The address range of modules with KASLR (x86_64).
constexpr const char* modules_begin = "0xffffffffc0000000";
constexpr const char* modules_end = "0xffffffffff000000";

struct Range {
    std::string begin, end;
};

/// Returns the addresses of a kernel function. The compiler may have added a suffix to its name.
Range function_range(const std::string& name) {
    const auto address = [](const std::string& line) { return "0x" + line.substr(0, 16); };
    Range range;
    for (const std::string& line : lines_of(read_text("/proc/kallsyms"))) {
        // A line is "ffffffff81234560 t name". The lines are sorted by address.
        if (!range.begin.empty() && address(line) != range.begin) {
            range.end = address(line);
            return range;
        }
        const std::string symbol = line.size() > 19 ? line.substr(19) : "";
        // The compiler may have cloned it. What it moved away as unlikely is not the function.
        if (symbol == name || (symbol.starts_with(name + ".") && !symbol.ends_with(".cold")))
            range.begin = address(line);
    }
    throw std::runtime_error("/proc/kallsyms has no function " + name);
}

struct Setting {
    const char* file;
    std::string value;
};

void set(const std::string& file, const std::string& value) {
    expect(write_text("/sys/kernel/debug/" + file, value), file);
}

/// Injects faults only below a module's code: how the kernel itself handles a lack of memory is not
/// tested here. Any warning in the kernel's log is a test failure. So event_define_fields() is
/// excluded, which warns when it cannot allocate a field, and injected faults are not logged.
void configure_all_faults() {
    const Range excluded = function_range("event_define_fields");
    const Setting common[] = {
        {"verbose", "0"},
        {"stacktrace-depth", "32"},
        {"require-start", modules_begin},
        {"require-end", modules_end},
        {"reject-start", excluded.begin},
        {"reject-end", excluded.end},
    };
    // By default, allocations that may sleep and allocations of single pages do not fail.
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

} // namespace

Faults::Faults() : file_(Descriptor::open("/proc/thread-self/fail-nth", O_RDWR)) {
    static const bool once = (configure_all_faults(), true);
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
    result.injected = disarm();
    if (result.error != 0)
        result.retry_error = call().error();
    return result;
}

FaultsBelow::FaultsBelow(const std::string& function) {
    const Range range = function_range(function);
    // It warns when it lacks memory, for the stack of a new task for example.
    const Range excluded = function_range("__vmalloc_node_range_noprof");
    for (const std::string kind : {"failslab/", "fail_page_alloc/"}) {
        set(kind + "require-start", range.begin);
        set(kind + "require-end", range.end);
        set(kind + "reject-start", excluded.begin);
        set(kind + "reject-end", excluded.end);
    }
}

FaultsBelow::~FaultsBelow() {
    configure_all_faults();
}

PageAllocationFaults::PageAllocationFaults(unsigned count) {
    configure_all_faults();
    const Range caller = function_range("__get_user_pages");
    const Setting settings[] = {
        {"require-start", caller.begin},  {"require-end", caller.end}, {"space", "0"},
        {"times", std::to_string(count)}, {"interval", "1"},           {"probability", "100"},
    };
    for (const Setting& setting : settings)
        set(std::string("fail_page_alloc/") + setting.file, setting.value);
}

PageAllocationFaults::~PageAllocationFaults() {
    set("fail_page_alloc/probability", "0");
    configure_all_faults();
}

unsigned PageAllocationFaults::remaining() const {
    return static_cast<unsigned>(std::stoul(read_text("/sys/kernel/debug/fail_page_alloc/times")));
}

} // namespace selftest
