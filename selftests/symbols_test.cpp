// SPDX-License-Identifier: GPL-2.0-only
// The module looks up kernel symbols. If one is missing, the module does not load or works without
// the feature; if the kernel has its own user_events, it does not load. The tests simulate this by
// changing the symbol names in the module.
#include "basic_recording.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "kernel_log.hpp"
#include "module.hpp"
#include "registered.hpp"
#include "rule.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <unistd.h>

using namespace selftest;

namespace {

/// The module with one string replaced by another that is not longer.
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

/// The module with the name of a symbol changed to one that no kernel has.
std::string without_symbol(const std::string& name) {
    return with_changed_string(name, "-" + name.substr(1));
}

bool looks_up(const std::string& name) {
    const std::string zero(1, '\0');
    return read_text(module::path()).find(zero + name + zero) != std::string::npos;
}

/// Whether the module or one of its files is present.
bool is_present() {
    return module::is_loaded() || exists(tracing_file("user_events_data")) ||
           exists(tracing_file("user_events_status")) ||
           exists("/proc/sys/kernel/user_events_max") ||
           exists("/proc/sys/kernel/user_events_max_per_user") ||
           exists("/proc/sys/kernel/user_events_registrations_max_per_user");
}

void check_failure(const std::string& image, int error, const std::string& symbol,
                   const std::string& reason) {
    CAPTURE(symbol);
    KernelLog log;
    const Outcome loaded = module::load_image(image);
    // Since 7.0 the kernel reports EBUSY where a module returns EEXIST.
    if (error == EEXIST && loaded == fails(EBUSY))
        error = EBUSY;
    CHECK(loaded == fails(error));
    const std::string text = log.read();
    CHECK_THAT(text, Catch::Contains("user_events: ") && Catch::Contains(symbol) &&
                         Catch::Contains(reason));
    CHECK_FALSE(is_present());
}

void unload() {
    REQUIRE(eventually([] { return module::unload().ok(); }));
}

} // namespace

TEST_CASE("Loading fails with EEXIST on a kernel that has its own user_events", "[long]") {
    const module::Loaded loaded;
    unload();
    // Replaces the symbol that identifies such a kernel with one that every kernel has.
    check_failure(with_changed_string("user_event_mm_dup", "event_mutex"), EEXIST,
                  "symbol event_mutex", "not needed");
}

TEST_CASE("A symbol of a module is not taken for one of the kernel") {
    const module::Loaded loaded;
    unload();
    // Functions of the module itself, which the kernel finds as it finds those of other modules.
    REQUIRE(module::load_image(with_changed_string("user_event_mm_dup", "ue_event_create")) ==
            succeeds());
    unload();
    check_failure(with_changed_string("tracefs_remove", "ue_registry_del"), ENOENT,
                  "ue_registry_del", "removing files from tracefs");
    KernelLog log;
    REQUIRE(module::load_image(with_changed_string("ring_buffer_record_is_set_on",
                                                   "ue_event_create")) == succeeds());
    CHECK_THAT(log.read(), Catch::Contains("lacks the symbol ue_event_create") &&
                               Catch::Contains("without counting lost records"));
    check_basic_recording();
    unload();
}

TEST_CASE("Loading fails with ENOENT and logs the name of a required symbol that is missing") {
    const module::Loaded loaded;
    unload();
    check_failure(without_symbol("event_mutex"), ENOENT, "-vent_mutex", "creating events");
    check_failure(without_symbol("tracefs_create_file"), ENOENT, "-racefs_create_file",
                  "creating files in tracefs");
    check_failure(without_symbol("tracefs_remove"), ENOENT, "-racefs_remove",
                  "removing files from tracefs");
    check_failure(without_symbol("exit_mmap"), ENOENT, "-xit_mmap",
                  "tracking the ends of programs");
    for (const std::string name : {"_stext", "_end"})
        check_failure(without_symbol(name), ENOENT, "-" + name.substr(1),
                      "ignoring symbols of modules");
    check_failure(without_symbol("uprobe_dup_mmap"), ENOENT, "-probe_dup_mmap", "tracking forks");
    check_failure(without_symbol("task_work_cancel_match"), ENOENT, "-ask_work_cancel_match",
                  "unloading");
    // The module looks these up on some kernels only.
    for (const std::string name : {"tracefs_mount", "event_file_get", "event_file_put"})
        if (looks_up(name))
            check_failure(without_symbol(name), ENOENT, "-" + name.substr(1),
                          "removing events whose files are open");
    // The module finds this function with a kprobe, and all others with this function.
    check_failure(without_symbol("kallsyms_lookup_name"), ENOENT, "kallsyms_lookup_name",
                  "needs it to find other symbols");
}

// Not run with the others: the module stays, and ftrace does not work any more.
TEST_CASE("After ftrace has switched itself off, unloading never ends, and programs run on",
          "[.kills_ftrace]") {
    const module::Loaded loaded;
    unload();
    // A rule that enables an event then calls the kernel's function that switches ftrace off.
    REQUIRE(module::load_image(with_changed_string("tracing_update_buffers", "ftrace_kill")) ==
            succeeds());
    {
        const Registered registered("");
        const Rule rule(registered.event.name());
    }
    KernelLog log;
    // Not a Child, which is killed and reaped. It keeps no pipe of the test open.
    if (fork() == 0) {
        close_range(0, ~0u, 0);
        _exit(module::unload().ok());
    }
    REQUIRE(eventually([&] { return log.read().find("unloading waits") != std::string::npos; }));
    for (int i = 0; i < 100; i++)
        REQUIRE(in_child([] { return 0; }) == 0);
    CHECK(module::is_loaded());
}

/// The module works, but its log has `reason`, and the file dynamic_events is the kernel's alone.
void check_without_dynamic_events(const std::string& image, const std::string& reason) {
    CAPTURE(reason);
    const std::string dynamic_events = tracing_file("dynamic_events");
    unload();
    KernelLog log;
    REQUIRE(module::load_image(image) == succeeds());
    CHECK_THAT(log.read(),
               Catch::Contains(reason) && Catch::Contains("without the file dynamic_events"));
    check_basic_recording();
    CHECK(write_text(dynamic_events, "u:" + unique_name("none"), O_APPEND) == fails(EINVAL));
    Word word{0};
    DataFile file;
    const std::string listed = unique_name("listed");
    file.must_register(&word, 0, listed);
    CHECK(read_text(dynamic_events).find(listed) == std::string::npos);
    CHECK(status_line(listed) == listed);
}

TEST_CASE("Without the symbols of dynamic events, everything works but the file dynamic_events") {
    const module::Loaded loaded;
    for (const std::string name :
         {"dyn_event_register", "dyn_event_ops_mutex", "dyn_event_list", "eprobe_dyn_event_ops"})
        check_without_dynamic_events(without_symbol(name), "-" + name.substr(1));
    unload();
}

TEST_CASE("If the kernel's dyn_event_operations differ from the module's, everything works but the "
          "file dynamic_events") {
    const module::Loaded loaded;
    // Some other object in the place of the one that is checked.
    for (const std::string other : {"event_mutex", "dyn_event_list", "linux_banner"})
        check_without_dynamic_events(with_changed_string("eprobe_dyn_event_ops", other),
                                     "struct dyn_event_operations, member create");
    unload();
}

TEST_CASE("Without an event that leads to the top-level instance, there are no rules") {
    const module::Loaded loaded;
    unload();
    KernelLog log;
    REQUIRE(module::load_image(without_symbol("sched_switch")) == succeeds());
    CHECK_THAT(
        log.read(),
        Catch::Contains("user_events: this kernel has no event sched:sched_switch: error -22"));
    CHECK_FALSE(exists(tracing_file("user_events_rules")));
    check_basic_recording();
    unload();
}

TEST_CASE("Without the tracepoint cgroup_attach_task, rules with cgroup= fail with EOPNOTSUPP") {
    const module::Loaded loaded;
    unload();
    REQUIRE(module::load_image(without_symbol("cgroup_attach_task")) == succeeds());
    {
        const Registered registered("");
        Instance instance;
        const std::string rule = registered.event.name() + " instance=" + instance.name() + " ";
        KernelLog log;
        CHECK(change_rule(rule + "cgroup=/") == fails(EOPNOTSUPP));
        CHECK_THAT(log.read(), Catch::Contains("this kernel lacks") &&
                                   Catch::Contains("the tracepoint cgroup_attach_task"));
        CHECK(rule_line(rule + "cgroup=/").empty());
        CHECK(registered.word == 0);
        // The other options for programs need no tracepoint.
        const Rule own(rule + "pid=" + std::to_string(getpid()));
        CHECK(registered.word == 1);
    }
    unload();
}

TEST_CASE("Without the symbol of an optional feature, the module works and logs what it omits") {
    const module::Loaded loaded;
    const std::pair<std::string, std::string> features[] = {
        {"ring_buffer_record_is_set_on", "without counting lost records"},
        {"sysctl_perf_event_paranoid", "without perf for users without privilege"},
        {"trace_event_sem", "without printing records of removed events"},
    };
    for (const auto& [symbol, feature] : features) {
        CAPTURE(symbol);
        unload();
        KernelLog log;
        REQUIRE(module::load_image(without_symbol(symbol)) == succeeds());
        CHECK_THAT(log.read(), Catch::Contains("-" + symbol.substr(1)) && Catch::Contains(feature));
        check_basic_recording();
    }
    unload();
}
