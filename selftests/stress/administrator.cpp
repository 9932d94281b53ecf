// SPDX-License-Identifier: GPL-2.0-only
#include "administrator.hpp"

#include "bpf.hpp"
#include "descriptor.hpp"
#include "group.hpp"
#include "mark.hpp"
#include "module.hpp"
#include "text_file.hpp"
#include "tracing.hpp"

#include <algorithm>
#include <dirent.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <vector>

using namespace selftest;

namespace stress {

namespace {

class Administrator {
public:
    Administrator(Shared& shared, Random random) : shared_(shared), random_(random) {}
    Administrator(const Administrator&) = delete;
    Administrator& operator=(const Administrator&) = delete;
    ~Administrator() {
        remove_rules();
        while (!instances_.empty())
            remove_instance();
    }

    void run() {
        while (shared_.phase == Phase::running)
            act();
    }

private:
    void act() {
        struct Choice {
            unsigned weight;
            void (Administrator::*act)();
        };
        static constexpr Choice choices[] = {
            {30, &Administrator::enable},         {8, &Administrator::filter},
            {8, &Administrator::trigger},         {10, &Administrator::rule},
            {1, &Administrator::remove_rules},    {14, &Administrator::read_files},
            {14, &Administrator::dynamic_event},  {1, &Administrator::make_instance},
            {1, &Administrator::remove_instance}, {8, &Administrator::perf},
            {2, &Administrator::limit},           {4, &Administrator::unload},
        };
        (this->*random_.one_by_weight(choices).act)();
    }

    /// Returns the directory of a mark, an event that exists, or one that may not.
    std::string any_event() {
        std::vector<std::string> found;
        for (const std::string system : systems) {
            DIR* const directory = opendir(tracing_file("events/" + system).c_str());
            while (const dirent* entry = directory ? readdir(directory) : nullptr)
                if (std::string_view(entry->d_name).starts_with("stress_") &&
                    std::string_view(entry->d_name) != counted_name)
                    found.push_back(system + "/" + entry->d_name);
            if (directory)
                closedir(directory);
        }
        for (const char* name : names)
            found.push_back(std::string(USER_EVENTS_SYSTEM) + "/" + name);
        for (const char* mark : mark_names)
            found.push_back(std::string(USER_MARK_SYSTEM) + "/" + mark);
        return found[random_.below(static_cast<unsigned>(found.size()))];
    }

    /// Returns the path of an event's file, at the top level or in an instance.
    std::string any_file(const std::string& file) {
        const std::string path = "events/" + any_event() + "/" + file;
        if (instances_.empty() || random_.chance(50))
            return tracing_file(path);
        return random_.one_of(instances_) + "/" + path;
    }

    void write(Operation operation, const std::string& path, const std::string& text,
               int flags = 0) {
        shared_.count(operation, write_text(path, text, flags));
    }

    void enable() { write(Operation::enable, any_file("enable"), random_.chance(50) ? "1" : "0"); }

    void filter() {
        static constexpr const char* filters[] = {"0", "a > 5", "b == \"x\"", "common_pid != 7"};
        write(Operation::filter, any_file("filter"), random_.one_of(filters));
    }

    void trigger() {
        static constexpr const char* triggers[] = {"stacktrace:2", "hist:keys=common_pid:size=128",
                                                   "snapshot:1"};
        const std::string text = random_.one_of(triggers);
        const std::string path = any_file("trigger");
        write(Operation::trigger, path, text);
        if (random_.chance(50))
            enable();
        write(Operation::trigger, path, "!" + text);
    }

    /// Returns a trigger of a rule. Most parts may be used, some may not.
    std::string random_trigger() {
        static const std::string counted[] = {"traceon",    "traceoff", "snapshot",
                                              "stacktrace", "hist",     "enable_event:a:b"};
        static const std::string counts[] = {"", "", ":1", ":2", ":0", ":x"};
        static const std::string filters[] = {"",   "", "", " if a > 5", " if common_pid != 7",
                                              " if"};
        static const std::string names[] = {"a",          "b",        "c",
                                            "common_pid", "hitcount", "common_cpu",
                                            "stacktrace", "absent",   "common_stacktrace",
                                            "common_pid", "a",        "common_timestamp",
                                            "$x",         "a+b"};
        static const std::string modifiers[] = {"",         "",          "",       "",
                                                ".hex",     ".sym",      ".log2",  ".buckets=3",
                                                ".syscall", ".execname", ".usecs", ".sym-offset"};
        static const std::string options[] = {":vals=",
                                              ":sort=",
                                              ":values=",
                                              ":keys=",
                                              ":x=",
                                              ":name=stress",
                                              ":clock=mono",
                                              ":pause",
                                              ":clear",
                                              ":nohitcount",
                                              ":onmax($x).snapshot()"};
        static const std::string sizes[] = {":size=128", ":size=128", ":size=300", ":size=1000000"};
        if (random_.chance(40))
            return random_.one_of(counted) + random_.one_of(counts) + random_.one_of(filters);
        const auto list = [this](const std::string& name, unsigned most) {
            std::string text = name;
            for (unsigned left = random_.below(most) + 1; left > 0; left--)
                text += random_.one_of(names) + random_.one_of(modifiers) + (left > 1 ? "," : "");
            return text;
        };
        std::string text = list("hist:keys=", 3);
        if (random_.chance(30)) {
            const std::string& option = random_.one_of(options);
            text += option.back() == '=' ? list(option, 2) : option;
        }
        return text + random_.one_of(sizes) + random_.one_of(filters);
    }

    /// Adds or removes a rule. None is for the counted event.
    void rule() {
        static constexpr const char* patterns[] = {
            "stress_[a-h]", "stress_a",       "*:stress_?", "user_events_multi:stress_[!a]",
            "user_mark:*",  "user_mark:text", "stress_?"};
        static constexpr const char* actions[] = {"", "", " if a > 5", " if common_pid != 7",
                                                  " trigger "};
        static const std::string options[] = {"",
                                              "",
                                              " limit=100/s",
                                              " limit=9/s/program",
                                              " sample=1/5",
                                              " sample=1/2 limit=1000000000/s",
                                              " uid=0",
                                              " comm=*",
                                              " exe=*/stress",
                                              " exe=/nothing",
                                              " pid=1",
                                              " pid=" + std::to_string(getppid()),
                                              " cgroup=/",
                                              " cgroup=" + control_group_path,
                                              " cgroup=" + control_group_path + " comm=s* uid=0",
                                              " limit=9/s/program uid=0"};
        std::string text = random_.chance(50) ? "!" : "";
        text += random_.one_of(patterns);
        if (random_.chance(30))
            text += std::string(" group=") + (random_.chance(50) ? group_name : "default");
        if (!instances_.empty() && random_.chance(70)) {
            const std::string& path = random_.one_of(instances_);
            text += " instance=" + path.substr(path.rfind('/') + 1) + random_.one_of(options);
        }
        text += random_.one_of(actions);
        write(Operation::rule, tracing_file("user_events_rules"),
              text.ends_with(" trigger ") ? text + random_trigger() : text, O_APPEND);
    }

    void remove_rules() {
        write(Operation::remove_rules, tracing_file("user_events_rules"), "", O_TRUNC);
    }

    void read_files() {
        const std::string files[] = {tracing_file("user_events_status"),
                                     tracing_file("user_events_rules"),
                                     "/dev/user_events/default",
                                     group_device(group_name),
                                     tracing_file("user_events_groups"),
                                     tracing_file("dynamic_events"),
                                     any_file("format"),
                                     any_file("hist"),
                                     any_file("enable"),
                                     any_file("id")};
        Descriptor file(::open(random_.one_of(files).c_str(), O_RDONLY | O_CLOEXEC));
        char piece[4096];
        Outcome outcome = Outcome::of(file.number());
        while (outcome.ok() && outcome.value() > 0)
            outcome = Outcome::of(read(file.number(), piece, random_.below(sizeof(piece)) + 1));
        shared_.count(Operation::read_files, outcome);
    }

    void dynamic_event() {
        const std::string name = random_.one_of(names);
        const std::string line = random_.chance(50)
                                     ? "u:" + name + random_.one_of(formats)
                                     : (random_.chance(50) ? "-:" + name : "-:" + any_event());
        write(Operation::dynamic_events, tracing_file("dynamic_events"), line, O_APPEND);
    }

    void make_instance() {
        if (instances_.size() >= 2)
            return;
        const std::string path = tracing_file("instances/" + unique_name("stress"));
        if (shared_.count(Operation::make_instance, Outcome::of(mkdir(path.c_str(), 0700))).ok())
            instances_.push_back(path);
    }

    void remove_instance() {
        if (instances_.empty())
            return;
        // Rules may name it.
        remove_rules();
        shared_.count(Operation::remove_instance, Outcome::of(rmdir(instances_.back().c_str())));
        instances_.pop_back();
    }

    /// Attaches perf to an event, and sometimes a BPF program, for a few other operations.
    void perf() {
        perf_event_attr attributes{};
        attributes.size = sizeof(attributes);
        attributes.type = PERF_TYPE_TRACEPOINT;
        attributes.sample_period = 1;
        try {
            attributes.config = std::stoul(read_text(any_file("id")));
        } catch (const std::exception&) {
            return;
        }
        const Descriptor file(static_cast<int>(syscall(
            SYS_perf_event_open, &attributes, -1, random_.below(2), -1, PERF_FLAG_FD_CLOEXEC)));
        const Outcome outcome = Outcome::of(file.number());
        if (!shared_.count(Operation::perf, outcome).ok())
            return;
        if (random_.chance(50))
            shared_.count(Operation::bpf, Outcome::of(ioctl(file.number(), PERF_EVENT_IOC_SET_BPF,
                                                            program_.descriptor())));
        for (unsigned left = random_.below(20); left > 0 && shared_.phase == Phase::running; left--)
            act();
    }

    void limit() {
        static const std::string path = "/proc/sys/kernel/user_events_max";
        write(Operation::limit, path, "3");
        enable();
        write(Operation::limit, path, "32768");
    }

    /// Unloading must fail, because the counted event is in use.
    void unload() { shared_.violations += shared_.count(Operation::unload, module::unload()).ok(); }

    Shared& shared_;
    Random random_;
    std::vector<std::string> instances_;
    const TotalsMap map_;
    const Program program_{map_, load_at(BPF_W, 8)};
};

} // namespace

void run_administrator(Shared& shared, unsigned seed, unsigned stream) {
    {
        Administrator administrator(shared, Random(seed, stream));
        administrator.run();
    }
    _exit(0);
}

} // namespace stress
