// SPDX-License-Identifier: GPL-2.0-only
// Debian's trace-cmd, perf and bpftrace, as they are: what they print is what the program wrote.
#include "deadline.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <future>

using namespace selftest;

namespace {

/// A folder of the test's own, removed with the object.
class Folder {
public:
    Folder() : path_("/tmp/" + unique_name("tools")) { std::filesystem::create_directory(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

/// Runs a shell command and returns its standard output. Throws std::runtime_error, with what it
/// said, where it fails.
std::string output_of(const Folder& folder, const std::string& command) {
    const std::string out = folder.file("out"), err = folder.file("err");
    const int status = std::system(("(" + command + ") >" + out + " 2>" + err).c_str());
    if (status != 0)
        throw std::runtime_error(command + ": status " + std::to_string(status) + ": " +
                                 read_text(err));
    return read_text(out);
}

/// Runs a tool around a command that says that the tool records by now, and waits until `body` has
/// run. The command takes the place of WAIT, or else the end. Returns what the tool wrote to its
/// standard output.
template <typename Body>
std::string record_with(const Folder& folder, const std::string& tool, Body&& body) {
    const std::string started = folder.file("started"), done = folder.file("done");
    const std::string script = folder.file("wait");
    expect(write_text(script,
                      "echo >" + started + "\nwhile [ ! -e " + done + " ]; do sleep 0.05; done\n",
                      O_CREAT),
           "write " + script);
    const std::string wait = "/bin/sh " + script;
    const std::size_t place = tool.find("WAIT");
    const std::string command =
        place == std::string::npos ? tool + " " + wait : std::string(tool).replace(place, 4, wait);
    auto output = std::async(std::launch::async, [&] { return output_of(folder, command); });
    const bool recording = eventually([&] {
        return exists(started) ||
               output.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    if (recording && exists(started))
        body();
    expect(write_text(done, "1", O_CREAT), "write " + done);
    std::string written = output.get();
    if (!recording)
        throw std::runtime_error("nothing was started by " + tool);
    return written;
}

/// What stands behind the event's name in each line about it.
std::vector<std::string> fields_in(const std::string& text, const Event& event) {
    std::vector<std::string> found;
    for (const std::string& line : lines_of(text)) {
        const std::size_t name = line.find(event.name() + ":");
        if (name == std::string::npos)
            continue;
        const std::string rest = line.substr(name + event.name().size() + 1);
        const std::size_t start = rest.find_first_not_of(' ');
        found.push_back(start == std::string::npos ? "" : rest.substr(start));
    }
    return found;
}

/// An event with a field of every type, and what is to be printed of its records. Its numbers of 8
/// and 16 bits are above 0: of such, libtraceevent reads none as negative.
struct EveryType {
    EveryType()
        : event(unique_name("every")),
          index(file.index_of(
              &word, 0,
              event.name() +
                  " s64 a; u64 b; s32 c; u32 d; int e; unsigned int f; s16 g; u16 h; short i;"
                  " unsigned short j; s8 k; u8 l; char[8] m; __rel_loc char[] n;"
                  " __data_loc char[] o")) {}

    /// Writes a record; `number` makes it differ from others. Returns how it is to be printed.
    std::string record(std::int32_t number) {
        const std::string near = "near " + std::to_string(number);
        const auto size = static_cast<std::uint32_t>(near.size() + 1);
        const Payload payload = Payload()
                                    .add<std::int64_t>(-5000000000 - number)
                                    .add<std::uint64_t>(18000000000000000000u)
                                    .add<std::int32_t>(number)
                                    .add<std::uint32_t>(4000000000)
                                    .add<std::int32_t>(-number)
                                    .add<std::uint32_t>(3000000000)
                                    .add<std::int16_t>(30000)
                                    .add<std::uint16_t>(60000)
                                    .add<std::int16_t>(2)
                                    .add<std::uint16_t>(65535)
                                    .add<std::int8_t>(100)
                                    .add<std::uint8_t>(200)
                                    .add_characters({"array\0\0\0", 8})
                                    .add<std::uint32_t>(DYN_LOC(4, size))
                                    .add<std::uint32_t>(DYN_LOC(66 + size, 4))
                                    .add_string(near)
                                    .add_string("far");
        expect(file.record(index, payload), "write");
        const std::string text = std::to_string(number);
        return "a=" + std::to_string(-5000000000 - number) + " b=18000000000000000000 c=" + text +
               " d=4000000000 e=" + std::to_string(-number) +
               " f=3000000000 g=30000 h=60000 i=2 j=65535 k=100 l=200 m=array n=" + near + " o=far";
    }

    std::string full_name() const { return event.system() + ":" + event.name(); }

    Word word{0};
    DataFile file;
    const Event event;
    const std::uint32_t index;
};

constexpr std::int32_t records = 5;

/// Writes records, and returns how those with numbers above `above` are to be printed.
std::vector<std::string> write_records(EveryType& every, std::int32_t above = 0) {
    std::vector<std::string> expected;
    for (std::int32_t number = 1; number <= records; number++) {
        const std::string printed = every.record(number);
        if (number > above)
            expected.push_back(printed);
    }
    return expected;
}

} // namespace

TEST_CASE("trace-cmd records and reports every field type") {
    EveryType every;
    const Folder folder;
    const std::int32_t above = GENERATE(0, 3);
    const std::string filter = above ? " -f 'c > 3 && n != \"near 9\"'" : "";
    CAPTURE(filter);
    const std::string file = folder.file("trace.dat");
    std::vector<std::string> expected;
    bool enabled = false;
    record_with(folder, "trace-cmd record -q -e " + every.full_name() + filter + " -o " + file,
                [&] {
                    enabled = every.word == 1;
                    expected = write_records(every, above);
                });
    CHECK(enabled);
    CHECK(every.word == 0);
    const auto reported = fields_in(output_of(folder, "trace-cmd report -i " + file), every.event);
    CHECK(expected.size() == static_cast<std::size_t>(records - above));
    CHECK(reported == expected);
}

TEST_CASE("perf records and reports every field type") {
    EveryType every;
    const Folder folder;
    const std::int32_t above = GENERATE(0, 3);
    const std::string filter = above ? " --filter 'c > 3 && n != \"near 9\"'" : "";
    CAPTURE(filter);
    const std::string file = folder.file("perf.data");
    std::vector<std::string> expected;
    bool enabled = false;
    record_with(folder,
                "perf record -q -a --no-buildid -e " + every.full_name() + filter + " -o " + file,
                [&] {
                    enabled = every.word == 1;
                    expected = write_records(every, above);
                });
    CHECK(enabled);
    CHECK(every.word == 0);
    const auto reported = fields_in(
        output_of(folder, "perf script -F event,trace -i " + file + " 2>/dev/null"), every.event);
    CHECK(expected.size() == static_cast<std::size_t>(records - above));
    CHECK(reported == expected);
}

TEST_CASE("perf stat counts") {
    EveryType every;
    const Folder folder;
    const std::string file = folder.file("stat");
    record_with(folder, "perf stat -a -x, -e " + every.full_name() + " -o " + file,
                [&] { write_records(every); });
    CHECK(read_text(file).find("\n" + std::to_string(records) + ",," + every.full_name() + ",") !=
          std::string::npos);
}

TEST_CASE("perf finds the call that wrote") {
    EveryType every;
    const Folder folder;
    const std::string file = folder.file("perf.data");
    record_with(folder, "perf record -q -a -g -e " + every.full_name() + " -o " + file,
                [&] { write_records(every); });
    const std::string script =
        output_of(folder, "perf script -F comm,ip,sym,dso -i " + file + " 2>/dev/null");
    std::size_t first_frames = 0, in_libc = 0;
    const auto lines = lines_of(script);
    for (std::size_t i = 0; i + 1 < lines.size(); i++)
        if (lines[i].starts_with("tools_test")) {
            first_frames++;
            in_libc += lines[i + 1].find("libc.so") != std::string::npos;
        }
    CAPTURE(script);
    CHECK(first_frames == records);
    CHECK(in_libc == records);
}

// bpftrace 0.17 takes __rel_loc for an unknown type, and each field to be aligned as in C: so is
// this event.
TEST_CASE("bpftrace sees and aggregates fields") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("bpftrace"));
    const std::uint32_t index = file.index_of(
        &word, 0,
        event.name() + " u32 a; s16 b; u16 d; __data_loc char[] far; u32 e; char[8] array; u64 c");
    const Folder folder;
    bool enabled = false;
    const std::string output = record_with(
        folder,
        "bpftrace -e 'tracepoint:user_events:" + event.name() +
            " { @sum = sum(args->a); @count[args->array] = count(); @of[args->b] = sum(args->c);"
            " printf(\"got %u %d %s %llu\\n\", args->a, args->b, str(args->far), args->c); }' -c "
            "'WAIT'",
        [&] {
            enabled = word == 1;
            for (std::int16_t number = 1; number <= records; number++)
                expect(file.record(index,
                                   Payload()
                                       .add<std::uint32_t>(1000000000u * (number % 4))
                                       .add<std::int16_t>(static_cast<std::int16_t>(-(number % 2)))
                                       .add<std::uint16_t>(1)
                                       .add<std::uint32_t>(DYN_LOC(40, 4))
                                       .add<std::uint32_t>(2)
                                       .add_characters({"array\0\0\0", 8})
                                       .add<std::uint64_t>(static_cast<std::uint64_t>(number))
                                       .add_string("far")),
                       "write");
        });
    CAPTURE(output);
    CHECK(enabled);
    CHECK(word == 0);
    for (const char* line : {"got 1000000000 -1 far 1", "got 2000000000 0 far 2",
                             "got 3000000000 -1 far 3", "got 0 0 far 4", "got 1000000000 -1 far 5",
                             "@sum: 7000000000", "@count[array]: 5", "@of[-1]: 9", "@of[0]: 6"}) {
        CAPTURE(line);
        CHECK(has_line(output, line));
    }
}
