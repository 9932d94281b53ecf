// SPDX-License-Identifier: GPL-2.0-only
// Marks: any process writes text and data to /dev/user_mark, for ftrace, perf and BPF to record.
#include "catch.hpp"
#include "mark.hpp"

#include "bind_mount.hpp"
#include "bpf.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "kernel_log.hpp"
#include "mapping.hpp"
#include "module.hpp"
#include "namespaces.hpp"
#include "perf.hpp"
#include "setting.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <user_events/mark.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <thread>

using namespace selftest;

namespace {

using Lines = std::vector<std::string>;

/// Records both events in an instance of its own.
struct Recording : Instance {
    Recording() {
        for (const Event* event : {&mark_text, &mark_data})
            expect(enable(*event), "enable " + event->name());
    }
    ~Recording() {
        disable(mark_text);
        disable(mark_data);
    }

    /// Takes the texts that were recorded since the last call.
    Lines texts() {
        Lines texts;
        for (const Record& record : records())
            if (record.event() == "text")
                texts.push_back(record.text("text"));
        return texts;
    }
};

std::string text_of(const Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

mode_t mode_of_device() {
    struct stat status;
    if (stat(MarkFile::path, &status) != 0)
        throw_errno("stat");
    return status.st_mode;
}

void shell(const std::string& command) {
    REQUIRE(std::system(command.c_str()) == 0);
}

/// Attributes with which a process without privilege records its own marks.
perf_event_attr unprivileged_sampling(long id) {
    perf_event_attr attributes{};
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_TRACEPOINT;
    attributes.config = static_cast<std::uint64_t>(id);
    attributes.sample_period = 1;
    attributes.sample_type = PERF_SAMPLE_RAW;
    attributes.exclude_kernel = 1;
    return attributes;
}

/// The text in a sample of user_mark:text, read as user_mark.h describes it.
std::string text_in(const PerfSample& sample) {
    std::uint32_t location;
    std::memcpy(&location, sample.payload.data(), sizeof(location));
    return text_of(sample.payload)
        .substr(sizeof(location) + (location & 0xffff), (location >> 16) - 1);
}

constexpr const char* paranoid = "/proc/sys/kernel/perf_event_paranoid";

} // namespace

TEST_CASE("The device is a character device that every process may read and write") {
    CHECK(mode_of_device() == (S_IFCHR | 0666));
    CHECK(in_child([] {
              become_user(unprivileged_uid);
              return MarkFile(O_RDWR).write("text") == succeeds(4) ? 0 : 1;
          }) == 0);
}

TEST_CASE("The parameter mark_mode sets the permissions of the device", "[long]") {
    const module::Loaded loaded;
    const auto unload = [] { REQUIRE(eventually([] { return module::unload().ok(); })); };
    const auto [mode, text] = GENERATE(table<mode_t, std::string>(
        {{0600, "0600"}, {0622, "0622"}, {0777, "0777"}, {0600, "384"}}));
    unload();
    REQUIRE(module::load("mark_mode=" + text) == succeeds());
    CHECK(mode_of_device() == (S_IFCHR | mode));
    CHECK(read_text("/sys/module/user_events/parameters/mark_mode") == std::to_string(mode) + "\n");
    unload();
    REQUIRE(module::load() == succeeds());
    CHECK(mode_of_device() == (S_IFCHR | 0666));
}

TEST_CASE("The module does not load with a mark_mode that has more than permissions") {
    const module::Loaded loaded;
    REQUIRE(eventually([] { return module::unload().ok(); }));
    KernelLog log;
    CHECK(module::load("mark_mode=01666") == fails(EINVAL));
    CHECK(module::load("mark_mode=public") == fails(EINVAL));
    CHECK(log.read().find("mark_mode=01666 has other bits than permissions") != std::string::npos);
    CHECK_FALSE(exists(MarkFile::path));
    REQUIRE(module::load() == succeeds());
}

TEST_CASE("The mark events always exist, and user_events neither lists nor deletes them") {
    CHECK(mark_text.format().find("field:__rel_loc char text[];\toffset:8;\tsize:4;") !=
          std::string::npos);
    const std::string data = mark_data.format();
    CHECK(data.find("field:u32 type;\toffset:8;\tsize:4;") != std::string::npos);
    CHECK(data.find("field:__rel_loc u8 data[];\toffset:12;\tsize:4;") != std::string::npos);
    // libtraceevent 1.8 crashes on __get_rel_dynamic_array_len().
    CHECK(data.find("__get_rel") == std::string::npos);

    Recording recording;
    CHECK(status().find("text") == std::string::npos);
    CHECK(read_text(tracing_file("dynamic_events")).find("text") == std::string::npos);
    CHECK(DataFile().delete_event("text") == fails(ENOENT));
    CHECK_FALSE(write_text(tracing_file("dynamic_events"), "-:user_mark/text", O_APPEND).ok());
    Word word{0};
    DataFile file;
    // A program's event of the same name is another one.
    CHECK(file.register_event(&word, 0, "text u32 a") == succeeds());
    CHECK(word == 0);
    CHECK(MarkFile().write("still there") == succeeds(11));
    CHECK(recording.texts() == Lines{"still there"});
}

TEST_CASE("What echo and printf write is recorded as text, without a final newline") {
    Recording recording;
    shell("echo 'phase 2 begins' >/dev/user_mark");
    shell("printf 'no newline' >/dev/user_mark");
    shell("printf 'two\\nlines\\n\\n' >>/dev/user_mark");
    shell("echo >/dev/user_mark");
    CHECK(recording.texts() == Lines{"phase 2 begins", "no newline", "two\nlines\n", ""});
    shell("echo 'as trace shows it' >/dev/user_mark");
    CHECK(recording.trace(mark_text) == Lines{"text: text=as trace shows it"});
    // A terminal that shows the file obeys these characters.
    shell("printf '\\033[2Jgone\\a' >/dev/user_mark");
    CHECK_THAT(read_text(recording.path("trace")), Catch::Contains("text: text=\x1b[2Jgone\a\n"));
}

TEST_CASE("A text ends with one NUL, which write() and the ioctl add if it is missing") {
    struct Case {
        std::string written, recorded;
    };
    using namespace std::string_literals;
    const Case cases[] = {
        {"a"s, "a\0"s},       {"a\n"s, "a\0"s},     {"a\0"s, "a\0"s},
        {"\n"s, "\0"s},       {"\0"s, "\0"s},       {"a\0b"s, "a\0b\0"s},
        {"a\n\0"s, "a\n\0"s}, {"a\r\n"s, "a\r\0"s}, {"\xff\x80"s, "\xff\x80\0"s},
    };
    Recording recording;
    MarkFile file;
    for (const auto& [written, recorded] : cases) {
        CAPTURE(written);
        CHECK(file.write(written) == succeeds(static_cast<long>(written.size())));
        CHECK(file.mark(USER_MARK_TEXT, written) == succeeds());
        const auto records = recording.records();
        REQUIRE(records.size() == 2);
        CHECK(text_of(records[0].bytes("text")) == recorded);
        CHECK(text_of(records[1].bytes("text")) == recorded);
    }
}

TEST_CASE("A write() of nothing records nothing, an ioctl without data records an empty mark") {
    Recording recording;
    MarkFile file;
    CHECK(file.write("") == succeeds(0));
    const iovec nothing[] = {{nullptr, 0}, {nullptr, 0}};
    CHECK(Outcome::of(writev(file.descriptor(), nothing, 2)) == succeeds(0));
    CHECK(recording.records().empty());
    CHECK(file.mark(USER_MARK_TEXT, "") == succeeds());
    CHECK(file.mark(7, {}) == succeeds());
    const auto records = recording.records();
    REQUIRE(records.size() == 2);
    CHECK(records[0].bytes("text") == Bytes(1));
    CHECK(records[1].number("type") == 7);
    CHECK(records[1].bytes("data").empty());
}

TEST_CASE("writev() makes one mark of all its parts") {
    Recording recording;
    const MarkFile file;
    std::string first = "one ", second = "mark\n";
    const iovec parts[] = {
        {first.data(), first.size()}, {nullptr, 0}, {second.data(), second.size()}};
    CHECK(Outcome::of(writev(file.descriptor(), parts, 3)) == succeeds(9));
    CHECK(recording.texts() == Lines{"one mark"});
}

TEST_CASE("An ioctl with any type but 0 records the type and the data") {
    Recording recording;
    MarkFile file;
    const std::string data("\0\n\xff data \n\0", 10);
    for (std::uint32_t type : {1u, 2u, 0x80000000u, 0xffffffffu}) {
        CAPTURE(type);
        CHECK(file.mark(type, data) == succeeds());
        const auto records = recording.records();
        REQUIRE(records.size() == 1);
        CHECK(records[0].event() == "data");
        CHECK(static_cast<std::uint32_t>(records[0].number("type")) == type);
        CHECK(text_of(records[0].bytes("data")) == data);
    }
    CHECK(file.mark(5, "\x01\xab") == succeeds());
    CHECK(recording.trace(mark_data) == Lines{"data: type=5 data=01ab"});
}

TEST_CASE("Texts and data of every size are recorded completely, or fail with E2BIG", "[long]") {
    Recording recording;
    MarkFile file;
    std::size_t wrong = 0, largest = 0;
    // A page, less what the ring buffer and a location take.
    for (std::size_t size : {1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025, 3000, 4000}) {
        const std::string text(size, 'x');
        wrong += file.write(text) != succeeds(static_cast<long>(size));
        wrong += recording.texts() != Lines{text};
        wrong += file.mark(3, text) != succeeds();
        const auto records = recording.records();
        wrong += records.size() != 1 || text_of(records.at(0).bytes("data")) != text;
    }
    for (std::size_t size = page_size - 95; size < page_size + 104; size++) {
        const std::string text(size, 'x');
        const Outcome outcome = file.write(text);
        const Lines texts = recording.texts();
        if (outcome.ok()) {
            largest = size;
            wrong += texts != Lines{text};
        } else {
            wrong += outcome != fails(E2BIG) || !texts.empty();
        }
    }
    CHECK(wrong == 0);
    // Less 16 bytes of the page, 8 of the ring buffer, 8 common ones, the location and the NUL.
    CHECK(largest == page_size - 16 - 4 - 4 - 8 - 4 - 1);
    // The newline takes no space.
    CHECK(file.write(std::string(largest, 'x') + "\n") == succeeds(static_cast<long>(largest) + 1));
    CHECK(file.write(std::string(largest + 1, 'x') + "\n") == fails(E2BIG));
    CHECK(file.mark(3, std::string(largest - 3, 'x')) == succeeds());
    CHECK(file.mark(3, std::string(largest - 2, 'x')) == fails(E2BIG));
}

TEST_CASE("What is too large is judged before the data is read") {
    Mapping memory(64);
    memory.protect(PROT_NONE);
    const std::string_view data(memory.at<char>(), memory.size());
    const bool by_perf = GENERATE(false, true);
    CAPTURE(by_perf);
    std::optional<Recording> recording;
    std::optional<PerfEvent> text, other;
    if (by_perf) {
        text.emplace(perf_sampling(mark_text));
        other.emplace(perf_sampling(mark_data));
    } else {
        recording.emplace();
    }
    MarkFile file;
    CHECK(file.write(data.substr(0, 10)) == fails(EFAULT));
    CHECK(file.mark(1, data.substr(0, 10)) == fails(EFAULT));
    CHECK(file.mark(0, data.substr(0, 10)) == fails(EFAULT));
    // perf takes 8 KiB, ftrace a page.
    const std::size_t least = by_perf ? 9000 : page_size + 808;
    for (std::size_t size : {least, 65535ul, 65536ul, data.size()}) {
        CAPTURE(size);
        CHECK(file.write(data.substr(0, size)) == fails(E2BIG));
        CHECK(file.mark(0, data.substr(0, size)) == fails(E2BIG));
        CHECK(file.mark(1, data.substr(0, size)) == fails(E2BIG));
    }
}

TEST_CASE("What is too large fails with E2BIG also where a trigger has a condition") {
    Recording recording;
    const std::string trigger = "traceoff if common_pid == 0";
    for (const Event* event : {&mark_text, &mark_data})
        REQUIRE(write_text(recording.path(*event, "trigger"), trigger).ok());
    Mapping memory(64);
    const std::string_view data(memory.at<char>(), memory.size());
    MarkFile file;
    const auto check = [&](std::size_t size, const Outcome& outcome) {
        CAPTURE(size);
        CHECK(file.write(data.substr(0, size)) == outcome);
        CHECK(file.mark(0, data.substr(0, size)) == outcome);
        CHECK(file.mark(1, data.substr(0, size)) == outcome);
    };
    // The kernel learns only while it records whether the record fits.
    for (std::size_t size : {page_size + 808, 65534ul, 65535ul})
        check(size, fails(E2BIG));
    memory.protect(PROT_NONE);
    for (std::size_t size : {page_size + 808, 65534ul})
        check(size, fails(EFAULT));
    check(65535, fails(E2BIG));
    CHECK(recording.records().empty());
    CHECK(file.write("fits") == succeeds(4));
    CHECK(recording.texts() == Lines{"fits"});
    for (const Event* event : {&mark_text, &mark_data})
        REQUIRE(write_text(recording.path(*event, "trigger"), "!" + trigger, O_APPEND).ok());
}

TEST_CASE("Marks that no recorder could hold succeed while other processes observe themselves") {
    Child observer([](Channel& channel) {
        const PerfEvent text(perf_sampling(mark_text)), data(perf_sampling(mark_data));
        channel.send('r');
        channel.receive<char>();
        return 0;
    });
    REQUIRE(observer.channel().receive<char>() == 'r');
    const std::string large(60000, 'x');
    MarkFile file;
    CHECK(file.write(large) == succeeds(60000));
    CHECK(file.mark(USER_MARK_TEXT, large) == succeeds());
    CHECK(file.mark(1, large) == succeeds());
    // Nothing is read, and no memory is needed.
    Mapping unreadable(1, PROT_NONE);
    CHECK(file.write({unreadable.at<char>(), 5}) == succeeds(5));
    const std::string too_large(std::size_t{2} * USER_MARK_MAX, 'x');
    CHECK(file.write(too_large) == succeeds(static_cast<long>(too_large.size())));
    CHECK(file.mark(1, too_large) == succeeds());
    observer.channel().send('e');
    CHECK(observer.wait() == 0);
}

TEST_CASE("perf samples a mark whether or not it is too large for ftrace") {
    // A record of ftrace is smaller than a page.
    const bool in_ftrace = page_size > 8192;
    Recording recording;
    PerfEvent perf(perf_sampling(mark_text));
    const std::string text(5000, 'x');
    CHECK(MarkFile().write(text) == succeeds(5000));
    const auto samples = perf.samples();
    REQUIRE(samples.size() == 1);
    CHECK(text_in(samples[0]) == text);
    CHECK(recording.records().size() == (in_ftrace ? 1 : 0));
    // Too large for perf.
    CHECK(MarkFile().write(std::string(8192, 'x')) == (in_ftrace ? succeeds(8192) : fails(E2BIG)));
}

TEST_CASE(
    "Marks that are not recorded succeed like writes to /dev/null, without reading the data") {
    MarkFile file;
    CHECK(file.write("text") == succeeds(4));
    CHECK(file.write(std::string(100000, 'x')) == succeeds(100000));
    Mapping memory(1, PROT_NONE);
    CHECK(file.write({memory.at<char>(), 5}) == succeeds(5));
    std::string text = "text";
    const iovec parts[] = {{text.data(), 4}, {text.data(), 2}};
    CHECK(Outcome::of(writev(file.descriptor(), parts, 2)) == succeeds(6));
    for (std::uint32_t type : {0u, 1u}) {
        user_mark mark = mark_of(type, text);
        CHECK(file.mark(mark) == succeeds());
        mark.data = address_of(memory.at());
        CHECK(file.mark(mark) == succeeds());
        mark.data_size = ~0u;
        CHECK(file.mark(mark) == succeeds());
    }
    // Each event on its own.
    Instance instance;
    REQUIRE(instance.enable(mark_text) == succeeds());
    CHECK(file.mark(1, "data") == succeeds());
    CHECK(instance.records().empty());
    REQUIRE(instance.disable(mark_text) == succeeds());
    REQUIRE(instance.enable(mark_data) == succeeds());
    CHECK(file.write("text") == succeeds(4));
    CHECK(instance.records().empty());
    REQUIRE(instance.disable(mark_data) == succeeds());
}

TEST_CASE("A wrong structure fails, whether marks are recorded or not") {
    const bool recorded = GENERATE(false, true);
    CAPTURE(recorded);
    std::optional<Recording> recording;
    if (recorded)
        recording.emplace();
    MarkFile file;
    user_mark mark = mark_of(1, "data");
    const auto outcome_with = [&](auto member, auto value) {
        user_mark changed = mark;
        changed.*member = value;
        return file.mark(changed);
    };
    for (std::uint32_t size : {0u, 1u, 23u, 4097u, ~0u}) {
        CAPTURE(size);
        CHECK(outcome_with(&user_mark::size, size) == fails(size > 4096 ? E2BIG : EINVAL));
    }
    for (std::uint32_t flags : {1u, 0x80000000u})
        CHECK(outcome_with(&user_mark::flags, flags) == fails(EINVAL));
    CHECK(file.control(USER_MARK, nullptr) == fails(EFAULT));

    // The structure ends at an unmapped page.
    Mapping memory(2);
    memory.protect(PROT_NONE, 1);
    const auto at_end = [&](std::size_t missing) {
        std::byte* to = memory.at(page_size - sizeof(mark) + missing);
        std::memcpy(to, &mark, sizeof(mark) - missing);
        return file.control(USER_MARK, to);
    };
    CHECK(at_end(0) == succeeds());
    for (std::size_t missing = 1; missing < sizeof(mark); missing++)
        CHECK(at_end(missing) == fails(EFAULT));
    if (recorded)
        CHECK(recording->records().size() == 1);
}

TEST_CASE("A larger structure of a later version works if its further bytes are zero") {
    Recording recording;
    MarkFile file;
    struct Later {
        user_mark mark;
        std::uint64_t more[3];
    } later{mark_of(2, "later"), {}};
    later.mark.size = sizeof(later);
    CHECK(file.control(USER_MARK, &later) == succeeds());
    later.more[2] = 1;
    CHECK(file.control(USER_MARK, &later) == fails(E2BIG));
    const auto records = recording.records();
    REQUIRE(records.size() == 1);
    CHECK(text_of(records[0].bytes("data")) == "later");
}

TEST_CASE("USER_MARK_ID returns the numbers of the events, also with a file open for reading") {
    MarkFile file(GENERATE(O_RDONLY, O_WRONLY, O_RDWR));
    CHECK(file.id(USER_MARK_TEXT) == succeeds(mark_text.id()));
    CHECK(file.id(1) == succeeds(mark_data.id()));
    CHECK(file.id(0xffffffff) == succeeds(mark_data.id()));
}

TEST_CASE("A file that is open only for reading makes no marks") {
    Recording recording;
    MarkFile file(O_RDONLY);
    CHECK(file.write("text") == fails(EBADF));
    CHECK(file.mark(0, "text") == fails(EBADF));
    CHECK(file.mark(1, "data") == fails(EBADF));
    CHECK(recording.records().empty());
}

TEST_CASE("Operations that the device lacks fail") {
    MarkFile file(O_RDWR);
    char byte;
    CHECK(Outcome::of(read(file.descriptor(), &byte, 1)) == fails(EINVAL));
    CHECK(Outcome::of(lseek(file.descriptor(), 0, SEEK_SET)) == fails(ESPIPE));
    CHECK(Outcome::of(pwrite(file.descriptor(), "a", 1, 0)) == fails(ESPIPE));
    void* start = mmap(nullptr, page_size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    CHECK(Outcome::of(start == MAP_FAILED ? -1 : 0) == fails(ENODEV));
    for (unsigned long request :
         {0ul, static_cast<unsigned long>(TCGETS), static_cast<unsigned long>(DIAG_IOCSREG),
          static_cast<unsigned long>(_IO(USER_MARK_IOC_MAGIC, 0x42)),
          static_cast<unsigned long>(_IOW(USER_MARK_IOC_MAGIC, 0x40, user_mark))}) {
        CAPTURE(request);
        CHECK(file.control(request, &byte) == fails(ENOTTY));
    }
}

TEST_CASE("ftrace, perf and BPF programs all get a mark") {
    Recording recording;
    PerfEvent perf(perf_sampling(mark_text));
    const Format format(mark_text);
    const TotalsMap map;
    const Program program(map, load_location_data(format.field("text"), true));
    PerfEvent with_program(perf_attributes(mark_text));
    REQUIRE(with_program.attach_program(program.descriptor()) == succeeds());
    CHECK(MarkFile().write("1234567\n") == succeeds(8));
    CHECK(recording.texts() == Lines{"1234567"});
    const auto samples = perf.samples();
    REQUIRE(samples.size() == 1);
    CHECK(text_in(samples[0]) == "1234567");
    CHECK(samples[0].type == mark_text.id());
    std::uint64_t expected;
    std::memcpy(&expected, "1234567", sizeof(expected));
    CHECK(map.totals() == Totals{expected, 1});
}

TEST_CASE("Filters, histograms and event probes read marks") {
    Recording recording;
    REQUIRE(recording.set_filter(mark_text, "text ~ \"phase*\"") == succeeds());
    REQUIRE(recording.set_filter(mark_data, "type == 3") == succeeds());
    MarkFile file;
    const Definition histogram("events/user_mark/data/trigger", "hist:keys=type",
                               "!hist:keys=type");
    {
        const Definition probe("dynamic_events", "e:selftests/mark user_mark.data type=$type:u32",
                               "-:selftests/mark");
        const Event probed("mark", "selftests");
        const Enabled enabled{probed};
        for (const char* text : {"phase 1", "other", "phase 2"})
            CHECK(file.write(text).ok());
        for (std::uint32_t type : {3u, 4u, 3u})
            CHECK(file.mark(type, "data") == succeeds());
        const std::string trace = read_text(tracing_file("trace"));
        CHECK(trace.find("mark: (user_mark.data) type=4") != std::string::npos);
    }
    CHECK(recording.texts() == Lines{"phase 1", "phase 2"});
    const std::string counts = read_text(tracing_file("events/user_mark/data/hist"));
    CHECK(counts.find("{ type:          3 } hitcount:          2") != std::string::npos);
    write_text(tracing_file("trace"), "", O_TRUNC);
}

TEST_CASE("A process in a container makes marks through a node that is handed in") {
    Recording recording;
    CHECK(
        in_child([] {
            // The container's /dev has nothing but the node.
            become_user(unprivileged_uid);
            enter(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET);
            map_to_root(unprivileged_uid);
            const std::string root = "/tmp/" + unique_name("container"), node = root + "/user_mark";
            if (mkdir(root.c_str(), 0755) != 0 || mount("none", root.c_str(), "tmpfs", 0, "") != 0)
                throw_errno("tmpfs");
            expect(write_text(node, "", O_CREAT), node);
            if (mount(MarkFile::path, node.c_str(), "", MS_BIND, "") != 0 ||
                chroot(root.c_str()) != 0)
                throw_errno("chroot");
            return in_child([] {
                const Descriptor file = Descriptor::open("/user_mark", O_WRONLY);
                return write(file.number(), "from inside\n", 12) == 12 ? 0 : 1;
            });
        }) == 0);
    CHECK(recording.texts() == Lines{"from inside"});
}

TEST_CASE("A process without capabilities observes its own marks") {
    Setting setting(paranoid);
    const int level = GENERATE(2, 1);
    setting.set(std::to_string(level));
    Child child([](Channel& channel) {
        become_user(unprivileged_uid);
        if (::access("/sys/kernel/tracing/events", R_OK) == 0)
            return 2;
        MarkFile file(O_RDWR);
        const long text = expect(file.id(USER_MARK_TEXT), "USER_MARK_ID"),
                   data = expect(file.id(1), "USER_MARK_ID");
        PerfEvent texts(unprivileged_sampling(text)), all_data(unprivileged_sampling(data));
        file.write("my own\n");
        file.mark(77, "data of mine");
        const auto samples = texts.samples(), data_samples = all_data.samples();
        if (samples.size() != 1 || data_samples.size() != 1)
            return 3;
        channel.send(text_in(samples[0]) == "my own");
        channel.send(samples[0].type == text);
        std::uint32_t head[2];
        std::memcpy(head, data_samples[0].payload.data(), sizeof(head));
        channel.send(head[0] == 77);
        channel.send(text_of(data_samples[0].payload)
                         .substr(sizeof(head) + (head[1] & 0xffff), head[1] >> 16) ==
                     "data of mine");
        return 0;
    });
    CHECK(child.wait() == 0);
    for (int i = 0; i < 4; i++) {
        CAPTURE(i);
        CHECK(child.channel().receive<bool>());
    }
}

TEST_CASE("A process without capabilities observes neither others' marks nor the whole system's") {
    Setting setting(paranoid);
    setting.set("2");
    Child other([](Channel& channel) { return channel.receive<int>(); });
    struct Errors {
        int of_other, of_cpu, of_user_event, with_kernel;
    };
    Word word{0};
    DataFile file;
    const Event event(unique_name("own"));
    file.must_register(&word, 0, event.name());
    const long event_id = event.id();
    Child child([&](Channel& channel) {
        become_user(unprivileged_uid);
        const long id = expect(MarkFile(O_RDWR).id(USER_MARK_TEXT), "USER_MARK_ID");
        const auto error_of = [](perf_event_attr attributes, pid_t task, int cpu) {
            return Outcome::of(syscall(SYS_perf_event_open, &attributes, task, cpu, -1, 0)).error();
        };
        perf_event_attr with_kernel = unprivileged_sampling(id);
        with_kernel.exclude_kernel = 0;
        channel.send(Errors{error_of(unprivileged_sampling(id), other.pid(), -1),
                            error_of(unprivileged_sampling(id), -1, 0),
                            error_of(unprivileged_sampling(event_id), 0, -1),
                            error_of(with_kernel, 0, -1)});
        return 0;
    });
    const auto errors = child.channel().receive<Errors>();
    CHECK(errors.of_other == EACCES);
    CHECK(errors.of_cpu == EPERM);
    // Events of user_events are for observers with privilege.
    CHECK(errors.of_user_event == EPERM);
    CHECK(errors.with_kernel == EACCES);
    other.channel().send(0);
}

TEST_CASE("With Debian's default of kernel.perf_event_paranoid, a process cannot observe itself") {
    Setting setting(paranoid);
    setting.set("3");
    Child child([](Channel& channel) {
        become_user(unprivileged_uid);
        const auto error_of = [](perf_event_attr attributes) {
            return Outcome::of(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0)).error();
        };
        MarkFile file(O_RDWR);
        perf_event_attr mark = unprivileged_sampling(file.id(USER_MARK_TEXT).value()), other = mark;
        other.type = PERF_TYPE_SOFTWARE;
        other.config = PERF_COUNT_SW_DUMMY;
        channel.send(error_of(mark));
        channel.send(error_of(other));
        channel.send(file.write("works in any case").value());
        return 0;
    });
    const int error = child.channel().receive<int>();
    // 3 is Debian's addition. On other kernels it means the same as 2.
    CHECK(error == child.channel().receive<int>());
    if (read_text("/proc/version").find("debian.org") != std::string::npos)
        CHECK(error == EACCES);
    CHECK(child.channel().receive<long>() == 17);
}

TEST_CASE("Unloading fails while the device is open, or an event has a recorder or a probe",
          "[long]") {
    const module::Loaded loaded;
    SECTION("open device") {
        MarkFile file(GENERATE(O_RDONLY, O_WRONLY));
        CHECK(module::unload_is_refused());
    }
    SECTION("instance") {
        Recording recording;
        CHECK(module::unload_is_refused());
    }
    SECTION("perf event") {
        PerfEvent perf(perf_sampling(mark_data));
        CHECK(module::unload_is_refused());
    }
    SECTION("trigger") {
        const Definition trigger("events/user_mark/text/trigger", "traceon", "!traceon");
        CHECK(module::unload_is_refused());
    }
    SECTION("event probe that is disabled") {
        const Definition probe("dynamic_events", "e:selftests/mark user_mark.data type=$type:u32",
                               "-:selftests/mark");
        CHECK(module::unload_is_refused());
    }
    CHECK(eventually([] { return module::unload().ok(); }));
    CHECK_FALSE(exists(MarkFile::path));
    CHECK_FALSE(mark_text.exists());
    CHECK_FALSE(mark_data.exists());
    CHECK_FALSE(exists(tracing_file("events/user_mark")));
    REQUIRE(module::load() == succeeds());
    Recording recording;
    CHECK(MarkFile().write("again") == succeeds(5));
    CHECK(recording.texts() == Lines{"again"});
}

TEST_CASE("After unloading, the marks in trace buffers are of an unknown type") {
    const module::Loaded loaded;
    Instance instance;
    REQUIRE(instance.enable(mark_text) == succeeds());
    CHECK(MarkFile().write("outlived").ok());
    CHECK(instance.trace(mark_text).size() == 1);
    REQUIRE(instance.disable(mark_text) == succeeds());
    REQUIRE(eventually([] { return module::unload().ok(); }));
    const std::string printed = read_text(instance.path("trace"));
    CHECK(printed.find("Unknown type") != std::string::npos);
    CHECK(printed.find("outlived") == std::string::npos);
    REQUIRE(module::load() == succeeds());
    CHECK(instance.trace(mark_text).empty());
}

TEST_CASE("A node of the marks that was kept while the module was unloaded cannot be opened then") {
    const module::Loaded loaded;
    const BindMount mounted(MarkFile::path);
    const Descriptor kept(::open(MarkFile::path, O_PATH | O_CLOEXEC));
    const auto error_of_open = [](const std::string& path) {
        const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        return file.number() < 0 ? errno : 0;
    };
    const std::string handle = "/proc/self/fd/" + std::to_string(kept.number());
    REQUIRE(error_of_open(mounted.path()) == 0);
    REQUIRE(error_of_open(handle) == 0);
    REQUIRE(eventually([] { return module::unload().ok(); }));
    CHECK(error_of_open(mounted.path()) == ENODEV);
    CHECK(error_of_open(handle) == ENODEV);
    REQUIRE(module::load() == succeeds());
    CHECK(error_of_open(MarkFile::path) == 0);
}

TEST_CASE("Marks succeed and are complete while recorders come and the module is reloaded",
          "[race][long]") {
    const module::Loaded loaded;
    std::atomic<bool> stop{false};
    std::atomic<unsigned> made{0}, missed{0}, wrong{0};
    std::vector<std::jthread> threads(2);
    for (std::jthread& thread : threads)
        thread = std::jthread([&] {
            // The pause lets the module be unloaded.
            for (; !stop; std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
                const Descriptor file(::open(MarkFile::path, O_WRONLY | O_CLOEXEC));
                if (file.number() < 0) {
                    (errno == ENOENT || errno == ENODEV || errno == ENXIO ? missed : wrong)++;
                    continue;
                }
                const user_mark mark = mark_of(8, "12345678");
                for (int n = 0; n < 20; n++) {
                    wrong += write(file.number(), "12345678\n", 9) != 9;
                    wrong += ioctl(file.number(), USER_MARK, &mark) != 0;
                }
                made++;
            }
        });
    std::size_t recorded = 0, bad = 0;
    for (unsigned round = 0; round < fewer_if_debug(3, 2); round++) {
        for (int change = 0; change < 3; change++) {
            Recording recording;
            PerfEvent perf(perf_attributes(mark_text));
            const unsigned before = made;
            REQUIRE(eventually([&] { return made > before + 1; }));
            for (const Record& record : recording.records()) {
                recorded++;
                bad += record.event() == "text" ? record.text("text") != "12345678"
                                                : text_of(record.bytes("data")) != "12345678";
            }
        }
        REQUIRE(eventually([] { return module::unload().ok(); }));
        REQUIRE(module::load() == succeeds());
    }
    stop = true;
    threads.clear();
    CHECK(wrong == 0);
    CHECK(bad == 0);
    CHECK(recorded > 100);
}

TEST_CASE("The library's marker records text and data, and reports errors") {
    const module::Loaded loaded;
    Instance instance;
    const user_events::marker mark;
    REQUIRE(!mark.error());
    CHECK(!mark("nothing records this"));
    REQUIRE(instance.enable(mark_text) == succeeds());
    REQUIRE(instance.enable(mark_data) == succeeds());
    CHECK(!mark("phase 2 begins"));
    const std::byte bytes[] = {std::byte{1}, std::byte{2}};
    CHECK(!mark(7, bytes));
    const std::vector<std::byte> too_large(USER_MARK_MAX + 1);
    CHECK(mark(7, too_large) == std::errc::argument_list_too_long);
    const std::vector<std::string> text = instance.trace(mark_text),
                                   data = instance.trace(mark_data);
    REQUIRE(text.size() == 1);
    CHECK(text[0].ends_with("phase 2 begins"));
    REQUIRE(data.size() == 1);
    CHECK(data[0].ends_with("type=7 data=0102"));
    CHECK(instance.disable(mark_text) == succeeds());
    CHECK(instance.disable(mark_data) == succeeds());
}
