// SPDX-License-Identifier: GPL-2.0-only
// A kernel that lacks what the module looks up in it, or has what makes the module superfluous: the
// module says so and does not load, or it loads and does without. To the module it is the same
// whether the kernel lacks a name or the module asks for another one: the test changes the name.
#include "deadline.hpp"
#include "module.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "works.hpp"

#include <catch2/catch.hpp>

using namespace selftest;

namespace {

/// The module with another string in place of one of its own, which is at least as long.
std::string with_changed_string(const std::string& from, const std::string& to) {
    const std::string zero(1, '\0');
    std::string image = read_text(module::path());
    const std::string old = zero + from + zero;
    std::string replacement = zero + to;
    replacement.resize(old.size());
    std::size_t found = 0;
    for (std::size_t at = 0; (at = image.find(old, at)) != std::string::npos; found++)
        image.replace(at, old.size(), replacement);
    if (found == 0)
        throw std::runtime_error("no string \"" + from + "\" in the module");
    return image;
}

/// The module, which asks for a symbol that no kernel has where it asked for this one.
std::string without_symbol(const std::string& name) {
    return with_changed_string(name, "-" + name.substr(1));
}

bool asks_for(const std::string& name) {
    const std::string zero(1, '\0');
    return read_text(module::path()).find(zero + name + zero) != std::string::npos;
}

/// What the kernel has logged since.
class KernelLog {
public:
    KernelLog() { lseek(file_.number(), 0, SEEK_END); }

    std::string read() {
        std::string text;
        char record[8192];
        for (ssize_t size; (size = ::read(file_.number(), record, sizeof(record))) > 0;)
            text.append(record, static_cast<std::size_t>(size));
        return text;
    }

private:
    Descriptor file_ = Descriptor::open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
};

/// Whether there is anything of the module's.
bool something_is_there() {
    return module::is_loaded() || exists(tracing_file("user_events_data")) ||
           exists(tracing_file("user_events_status")) || exists("/proc/sys/kernel/user_events_max");
}

void check_refusal(const std::string& image, int error, const std::string& symbol,
                   const std::string& reason) {
    CAPTURE(symbol);
    KernelLog log;
    CHECK(module::load_image(image) == fails(error));
    const std::string text = log.read();
    CHECK_THAT(text, Catch::Contains("user_events: ") && Catch::Contains(symbol) &&
                         Catch::Contains(reason));
    CHECK_FALSE(something_is_there());
}

void unload() {
    REQUIRE(eventually([] { return module::unload().ok(); }));
}

} // namespace

TEST_CASE("A kernel that has user_events of its own keeps them") {
    const module::Loaded loaded;
    unload();
    // The symbol that tells such a kernel, against one that this kernel has.
    check_refusal(with_changed_string("user_event_mm_dup", "event_mutex"), EEXIST,
                  "symbol event_mutex", "not needed");
}

TEST_CASE("A kernel without a symbol that the module needs is told from others by its name") {
    const module::Loaded loaded;
    unload();
    check_refusal(without_symbol("event_mutex"), ENOENT, "-vent_mutex", "creating events");
    for (const std::string name : {"tracefs_create_file", "tracefs_remove"})
        check_refusal(without_symbol(name), ENOENT, "-" + name.substr(1), "the files in tracefs");
    // Not asked for on all kernels.
    for (const std::string name : {"tracefs_mount", "event_file_get", "event_file_put"})
        if (asks_for(name))
            check_refusal(without_symbol(name), ENOENT, "-" + name.substr(1),
                          "a file of theirs is open");
    // The one that finds all the others is looked for by a kprobe.
    check_refusal(without_symbol("kallsyms_lookup_name"), ENOENT, "kallsyms_lookup_name",
                  "no other symbol is found");
}

TEST_CASE("Without the kernel's dynamic events, all but that file works") {
    const module::Loaded loaded;
    const std::string dynamic_events = tracing_file("dynamic_events");
    for (const std::string name : {"dyn_event_register", "dyn_event_ops_mutex", "dyn_event_list"}) {
        CAPTURE(name);
        unload();
        KernelLog log;
        REQUIRE(module::load_image(without_symbol(name)) == succeeds());
        CHECK_THAT(log.read(), Catch::Contains("-" + name.substr(1)) &&
                                   Catch::Contains("without the file dynamic_events"));
        check_that_it_works();
        CHECK(write_text(dynamic_events, "u:" + unique_name("none"), O_APPEND) == fails(EINVAL));
        Word word{0};
        DataFile file;
        const std::string listed = unique_name("listed");
        file.index_of(&word, 0, listed);
        CHECK(read_text(dynamic_events).find(listed) == std::string::npos);
        CHECK(status_line(listed) == listed);
    }
    unload();
}

TEST_CASE("Without what a feature needs, all else works") {
    const module::Loaded loaded;
    const std::pair<std::string, std::string> features[] = {
        {"ring_buffer_record_is_set_on", "without counting lost records"},
        {"trace_event_sem", "without reading records of events that have gone"},
        {"eprobe_dyn_event_ops", "without taking event probes along"},
    };
    for (const auto& [symbol, feature] : features) {
        CAPTURE(symbol);
        unload();
        KernelLog log;
        REQUIRE(module::load_image(without_symbol(symbol)) == succeeds());
        CHECK_THAT(log.read(), Catch::Contains("-" + symbol.substr(1)) && Catch::Contains(feature));
        check_that_it_works();
    }
    unload();
}
