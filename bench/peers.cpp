// SPDX-License-Identifier: GPL-2.0-only
// What a program spends on an event: with user_events, and with the kernel's other ways to trace a
// program. lttng_ust.cpp measures LTTng.
#include "groups.hpp"
#include "program.hpp"
#include "usdt.hpp"

#include "setting.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <user_events/user_events.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>
#include <stdexcept>
#include <unistd.h>

// An argument is always in a register, for register_of().
#define STAP_SDT_ARG_CONSTRAINT r
#include <sys/sdt.h>

using namespace selftest;

namespace bench {

namespace {

/// The enable bits are in static variables, as in most programs.
class UserEvents {
public:
    static constexpr const char* name = "user_events";

    [[gnu::noinline]] void add(Report& report, const std::string& what) {
        add_events(
            report, what,
            [this](std::uint64_t value) {
                if (number_enabled_.load(std::memory_order_relaxed) & 1) {
                    const struct [[gnu::packed]] {
                        std::uint32_t index;
                        std::uint64_t value;
                    } record = {number_index_, value};
                    write(file_.descriptor(), &record, sizeof(record));
                }
            },
            [this](std::uint32_t number, const char* text) {
                if (text_enabled_.load(std::memory_order_relaxed) & 1) {
                    struct {
                        std::uint32_t index, number, location;
                        char text[200];
                    } record;
                    const std::size_t size = std::min(std::strlen(text) + 1, sizeof(record.text));
                    record.index = text_index_;
                    record.number = number;
                    record.location = DYN_LOC(0, size);
                    std::memcpy(record.text, text, size);
                    write(file_.descriptor(), &record, offsetof(decltype(record), text) + size);
                }
            });
    }

    struct Recording {
        explicit Recording(const UserEvents& events)
            : number(Event(events.number_)), text(Event(events.text_)) {}
        Enabled number, text;
    };

private:
    static inline Word number_enabled_{0}, text_enabled_{0};
    const std::string number_ = unique_name("number"), text_ = unique_name("text");
    DataFile file_;
    const std::uint32_t number_index_ =
        file_.must_register(&number_enabled_, 0, number_ + " u64 value");
    const std::uint32_t text_index_ =
        file_.must_register(&text_enabled_, 0, text_ + " u32 number; __rel_loc char[] text");
};

/// The C++ library. Its events have names of their own.
class Library {
public:
    static constexpr const char* name = "the C++ library";

    [[gnu::noinline]] void add(Report& report, const std::string& what) {
        add_events(
            report, what, [](std::uint64_t value) { number_(value); },
            [](std::uint32_t number, const char* text) { text_(number, text); });
    }

    struct Recording {
        explicit Recording(const Library&) {}
        Enabled number{Event("peer_number")}, text{Event("peer_text")};
    };

private:
    static inline user_events::event<"peer_number", user_events::field<"value", std::uint64_t>>
        number_;
    static inline user_events::event<"peer_text", user_events::field<"number", std::uint32_t>,
                                     user_events::field<"text", const char*>>
        text_;
};

/// Probes of sys/sdt.h, recorded by ftrace through uprobe events.
class Usdt {
public:
    static constexpr const char* name = "USDT probe";

    /// Each copy that the compiler makes of this function has a probe. There must be one.
    [[gnu::noinline]] void add(Report& report, const std::string& what) {
        add_events(
            report, what, [](std::uint64_t value) { STAP_PROBE1(bench, number, value); },
            [](std::uint32_t number, const char* text) { STAP_PROBE2(bench, text, number, text); });
    }

    class Recording {
    public:
        explicit Recording(const Usdt&) {}

    private:
        /// Returns the command that defines an event.
        static std::string definition(const std::string& name, std::uint64_t offset) {
            return "p:bench/" + name + " " +
                   std::filesystem::read_symlink("/proc/self/exe").string() + ":" +
                   std::to_string(offset);
        }
        static std::string number() {
            const UsdtProbe probe = find_usdt_probe("bench", "number");
            return definition("number", probe.offset) + " value=" + register_of(probe, 0) + ":u64";
        }
        static std::string text() {
            const UsdtProbe probe = find_usdt_probe("bench", "text");
            return definition("text", probe.offset) + " number=" + register_of(probe, 0) +
                   ":u32 text=+0(" + register_of(probe, 1) + "):string";
        }

        Definition number_{"uprobe_events", number(), "-:bench/number"};
        Definition text_{"uprobe_events", text(), "-:bench/text"};
        Enabled number_enabled_{Event("number", "bench")}, text_enabled_{Event("text", "bench")};
    };
};

/// A program cannot see whether tracing is on: it always formats and writes.
class TraceMarker {
public:
    static constexpr const char* name = "trace_marker";

    TraceMarker() { tracing_.set("0"); }

    [[gnu::noinline]] void add(Report& report, const std::string& what) {
        add_events(
            report, what,
            [this](std::uint64_t value) {
                char line[200];
                write(file_.number(), line,
                      std::snprintf(line, sizeof(line), "number: value=%lu\n", value));
            },
            [this](std::uint32_t number, const char* text) {
                char line[200];
                write(file_.number(), line,
                      std::snprintf(line, sizeof(line), "text: number=%u text=%s\n", number, text));
            });
    }

    struct Recording {
        explicit Recording(TraceMarker& marker) { marker.tracing_.set("1"); }
    };

private:
    Descriptor file_ = Descriptor::open(tracing_file("trace_marker"), O_WRONLY);
    Setting tracing_{tracing_file("tracing_on")};
};

/// Returns how many records have been written to the ring buffer of the top-level instance, by the
/// one CPU.
std::uint64_t records() {
    std::uint64_t entries = 0, overwritten = 0;
    const std::string text = read_text(tracing_file("per_cpu/cpu0/stats"));
    if (std::sscanf(text.c_str(), "entries: %lu overrun: %lu", &entries, &overwritten) != 2)
        throw std::runtime_error("no number of records in: " + text);
    return entries + overwritten;
}

/// What a program without tracing does: lines of text in a file, through a buffer.
void text_files(Report& report) {
    const std::string path = "/tmp/" + unique_name("lines");
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (!file)
        throw std::runtime_error("cannot write " + path);
    add_events(
        report, "fprintf to a file",
        [=](std::uint64_t value) { std::fprintf(file, "number: value=%lu\n", value); },
        [=](std::uint32_t number, const char* text) {
            std::fprintf(file, "text: number=%u text=%s\n", number, text);
        });
    std::fclose(file);
    const auto logger = spdlog::basic_logger_st("lines", path, true);
    add_events(
        report, "spdlog to a file", [&](std::uint64_t value) { logger->info("value={}", value); },
        [&](std::uint32_t number, const char* text) {
            logger->info("number={} text={}", number, text);
        });
    spdlog::drop_all();
    std::filesystem::remove(path);
}

template <typename Peer>
void measure(Report& report) {
    Peer peer;
    const std::string name = Peer::name;
    const auto add = [&](const char* state, std::uint64_t expected) {
        const std::uint64_t before = records();
        peer.add(report, name + ", " + state);
        const std::uint64_t written = records() - before;
        if (written != expected)
            throw std::runtime_error(name + ", " + state + ": " + std::to_string(written) +
                                     " records");
    };
    add("disabled", 0);
    const typename Peer::Recording recording(peer);
    add("recorded", 2 * records_of_event);
}

} // namespace

void peers(Report& report) {
    measure<UserEvents>(report);
    measure<Library>(report);
    measure<Usdt>(report);
    measure<TraceMarker>(report);
    text_files(report);
}

} // namespace bench
