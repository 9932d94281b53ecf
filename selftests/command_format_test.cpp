// SPDX-License-Identifier: GPL-2.0-only
// The command "name[ field[;field]...]" as tracing and its tools see it: the event's `format` file
// and its name. kernel/tests/format_test.c and fuzz/command_fuzzer.cpp have the parser's rules:
// types, sizes, white space, equal commands, refusals.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "kernel_log.hpp"
#include "mapping.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <climits>

using namespace selftest;

namespace {

struct Field {
    const char* type;
    int size;
    bool is_signed;
    const char* format;        // its conversion in print fmt
    const char* argument;      // the argument of that conversion
    const char* declaration{}; // in the field's line; "type f" if null
};

const Field fields[] = {
    {"s64", 8, true, "%lld", "REC->f"},
    {"u64", 8, false, "%llu", "REC->f"},
    {"s32", 4, true, "%d", "REC->f"},
    {"u32", 4, false, "%u", "REC->f"},
    {"int", 4, true, "%d", "REC->f"},
    {"unsigned int", 4, false, "%u", "REC->f"},
    {"s16", 2, true, "%d", "REC->f"},
    {"u16", 2, false, "%u", "REC->f"},
    {"short", 2, true, "%d", "REC->f"},
    {"unsigned short", 2, false, "%u", "REC->f"},
    {"s8", 1, true, "%d", "REC->f"},
    {"u8", 1, false, "%u", "REC->f"},
    {"char", 1, true, "%d", "REC->f"},
    {"unsigned char", 1, false, "%u", "REC->f"},
    {"char[1]", 1, true, "%s", "REC->f", "char f[1]"},
    {"char[16]", 16, true, "%s", "REC->f", "char f[16]"},
    {"char[1024]", 1024, true, "%s", "REC->f", "char f[1024]"},
    {"char[0x0400]", 1024, true, "%s", "REC->f", "char f[1024]"},
    {"char[002000]", 1024, true, "%s", "REC->f", "char f[1024]"},
    {"unsigned char[16]", 16, false, "%s", "REC->f", "unsigned char f[16]"},
    {"__data_loc char[]", 4, true, "%s", "__get_str(f)"},
    {"__data_loc unsigned char[]", 4, true, "%s", "__get_str(f)"},
    {"__data_loc u8[]", 4, true, "%llu", "REC->f"},
    {"__data_loc nonsense[]", 4, true, "%llu", "REC->f"},
    {"__rel_loc char[]", 4, true, "%s", "__get_rel_str(f)", "__rel_loc char f[]"},
    {"__rel_loc unsigned char[]", 4, true, "%s", "__get_rel_str(f)", "__rel_loc unsigned char f[]"},
    {"__rel_loc u8[]", 4, true, "%llu", "REC->f", "__rel_loc u8 f[]"},
};

std::string field_line(const std::string& declaration, int offset, int size, bool is_signed) {
    return "\tfield:" + declaration + ";\toffset:" + std::to_string(offset) +
           ";\tsize:" + std::to_string(size) + ";\tsigned:" + (is_signed ? "1" : "0") + ";";
}

/// Registers an event with these fields for the lifetime of the object.
class Registered {
public:
    explicit Registered(const std::string& fields, const std::string& name = unique_name("format"))
        : event(name), outcome(file_.register_event(&word, 0, name + fields)) {}

    Word word{0};

private:
    DataFile file_;

public:
    const Event event;
    const Outcome outcome;
};

/// Parses an event's format and prints a record with libtraceevent, as perf and trace-cmd do, in a
/// child process that a read past the record kills. Returns the same as Child::wait().
int print_in_child(const Event& event) {
    return in_child([&] {
        const std::string format = event.format();
        const std::shared_ptr<tep_handle> formats(tep_alloc(), tep_free);
        tep_parse_event(formats.get(), format.c_str(), format.size(), event.system().c_str());
        tep_event* found = tep_find_event(formats.get(), event.id());
        if (!found)
            return 1;
        int size = 8;
        for (const tep_format_field* field = found->format.fields; field; field = field->next)
            size = std::max(size, field->offset + field->size);
        Mapping pages(2);
        pages.protect(PROT_NONE, 1);
        tep_record record{};
        record.size = size;
        record.data = pages.at(page_size - static_cast<std::size_t>(size));
        const auto type = static_cast<std::uint16_t>(event.id());
        std::memcpy(record.data, &type, sizeof(type));

        trace_seq text;
        trace_seq_init(&text);
        tep_print_event(formats.get(), &text, &record, "%s", TEP_PRINT_INFO);
        const bool printed = text.len > 0;
        trace_seq_destroy(&text);
        return printed ? 0 : 2;
    });
}

} // namespace

TEST_CASE("The format file and libtraceevent show each type with its size, signedness and flags") {
    for (const Field& field : fields) {
        CAPTURE(field.type);
        const Registered registered(std::string(" ") + field.type + " f");
        REQUIRE(registered.outcome == succeeds());
        const std::string format = registered.event.format();
        const std::string declaration =
            field.declaration ? field.declaration : std::string(field.type) + " f";
        CAPTURE(format);
        CHECK(has_line(format, field_line(declaration, 8, field.size, field.is_signed)));
        CHECK(has_line(format,
                       std::string("print fmt: \"f=") + field.format + "\", " + field.argument));

        const Format parsed(registered.event);
        const tep_format_field& found = parsed.field("f");
        const std::string_view type(field.type);
        CHECK(found.offset == 8);
        CHECK(found.size == field.size);
        CHECK(((found.flags & TEP_FIELD_IS_SIGNED) != 0) == field.is_signed);
        CHECK(((found.flags & TEP_FIELD_IS_ARRAY) != 0) == type.ends_with("]"));
        CHECK(((found.flags & TEP_FIELD_IS_DYNAMIC) != 0) == type.starts_with("__"));
        CHECK(((found.flags & TEP_FIELD_IS_RELATIVE) != 0) == type.starts_with("__rel_loc"));
        // Which other locations libtraceevent treats as strings is not tested.
        if (type.find("char[") != std::string_view::npos)
            CHECK((found.flags & TEP_FIELD_IS_STRING) != 0);
    }
}

TEST_CASE("The format file is correct for field names of 1 to 99 characters") {
    // Short texts are stored in the event's own allocation, long ones separately.
    for (std::size_t length = 1; length < 100; length++) {
        CAPTURE(length);
        const std::string name(length, 'f');
        const Registered registered(" u64 " + name);
        REQUIRE(registered.outcome == succeeds());
        const std::string format = registered.event.format();
        CAPTURE(format);
        CHECK(has_line(format, field_line("u64 " + name, 8, 8, false)));
        const std::string print =
            std::string("print fmt: \"").append(name).append("=%llu\", REC->");
        CHECK(has_line(format, print + name));
    }
}

TEST_CASE("A struct field has the size given in the command") {
    const Registered registered(" struct timespec when 16;struct s a 1; u8 b");
    REQUIRE(registered.outcome == succeeds());
    const std::string format = registered.event.format();
    CHECK(has_line(format, field_line("struct timespec when", 8, 16, true)));
    CHECK(has_line(format, field_line("struct s a", 24, 1, true)));
    CHECK(has_line(format, field_line("u8 b", 25, 1, false)));
    CHECK(has_line(format, "print fmt: \"when=%llu a=%llu b=%u\", REC->when, REC->a, REC->b"));
}

TEST_CASE("A format whose fixed fields no recorder can hold is EINVAL") {
    const std::string most = std::to_string((1 << 20) - 8), name = unique_name("large");
    CHECK(Registered(" struct s a " + most).outcome == succeeds());
    CHECK(Registered(" struct s a " + most + "; u8 b").outcome == fails(EINVAL));
    CHECK(Registered(" struct s a 2000000000").outcome == fails(EINVAL));
    CHECK(write_text(tracing_file("dynamic_events"), "u:" + name + " struct s a 2000000000",
                     O_APPEND) == fails(EINVAL));
}

TEST_CASE("The format file lists the common fields, the event's fields and the print format") {
    const Registered registered(" u32 a; __rel_loc char[] b");
    REQUIRE(registered.outcome == succeeds());
    const std::string expected =
        "name: " + registered.event.name() + "\nID: " + std::to_string(registered.event.id()) +
        "\nformat:\n"
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
        "\n"
        "\tfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n"
        "\tfield:__rel_loc char b[];\toffset:12;\tsize:4;\tsigned:1;\n"
        "\n"
        "print fmt: \"a=%u b=%s\", REC->a, __get_rel_str(b)\n";
    CHECK(registered.event.format() == expected);
}

TEST_CASE("An event's directory has the files enable, filter, trigger, id and format") {
    const Registered registered(" u32 a");
    REQUIRE(registered.outcome == succeeds());
    for (const char* file : {"enable", "filter", "trigger", "id", "format"}) {
        CAPTURE(file);
        CHECK(exists(registered.event.path(file)));
    }
}

TEST_CASE("REG accepts an event without fields") {
    for (const char* none : {"", " ", " ;"}) {
        CAPTURE(none);
        const Registered registered(none);
        REQUIRE(registered.outcome == succeeds());
        CHECK(has_line(registered.event.format(), "print fmt: \"\""));
    }
}

TEST_CASE("REG rejects an invalid command with EINVAL and leaves nothing behind") {
    const std::string name = unique_name("invalid");
    const std::string invalid_commands[] = {"",
                                            " u32 a",
                                            "..",
                                            "a/b",
                                            "enable",
                                            "a\x01",
                                            name + " long a",
                                            name + " u32 a; nonsense b",
                                            name + " char[1025] a",
                                            name + " char[0x00400] a",
                                            name + " char[4]x a",
                                            name + " struct s a 1100000000; struct s b 1100000000",
                                            name + " struct s a 0",
                                            name + " struct a__rel_loc f 4"};
    for (const std::string& invalid : invalid_commands) {
        CAPTURE(invalid);
        CHECK(Registered("", invalid).outcome == fails(EINVAL));
    }
    CHECK(status_line(name).empty());
    CHECK_FALSE(Event(name).exists());
}

TEST_CASE("REG accepts punctuation and UTF-8 in event names, and the event can be enabled") {
    const std::string prefix = unique_name("name");
    // No path component is longer than 255 bytes.
    std::vector<std::string> names{prefix + std::string(255 - prefix.size(), 'n')};
    for (const char* rest :
         {"-", ".", ".a", "-a", ",", "=", "é", "*", "[x]", "\"", "$", "\\", "%s"})
        names.push_back(prefix + rest);
    for (const std::string& name : names) {
        CAPTURE(name);
        Registered registered(" u32 a", name);
        REQUIRE(registered.outcome == succeeds());
        CHECK(status_line(name) == name);
        CHECK(has_line(registered.event.format(), "name: " + name));
        Enabled enabled{registered.event};
        CHECK(registered.word == 1);
    }
}

namespace {

/// The longest name that a directory of an event can have. The eventfs has no limit.
std::size_t longest_directory() {
    return has_eventfs() ? PATH_MAX : NAME_MAX;
}

std::string name_of_length(std::size_t length) {
    const std::string prefix = unique_name("long");
    return prefix + std::string(length - prefix.size(), 'n');
}

} // namespace

TEST_CASE("REG accepts an event name exactly if the kernel can create a directory for it") {
    KernelLog log;
    for (std::size_t length : {254, 255, 256, 400, 511}) {
        CAPTURE(length);
        const std::string name = name_of_length(length);
        Registered registered("", name);
        if (length > longest_directory()) {
            CHECK(registered.outcome == fails(EINVAL));
            CHECK(write_text(tracing_file("dynamic_events"), "u:" + name, O_APPEND) ==
                  fails(EINVAL));
            CHECK(status_line(name).empty());
            continue;
        }
        REQUIRE(registered.outcome == succeeds());
        CHECK(registered.event.exists());
        CHECK(status_line(name) == name);
        Enabled enabled{registered.event};
        CHECK(registered.word == 1);
    }
    CHECK_THAT(log.read(), !Catch::Contains("tracefs"));
}

TEST_CASE("A multi-format event's number counts as part of its name") {
    KernelLog log;
    Word word{0};
    DataFile file;
    for (std::size_t length : {240, 254, 255, 400}) {
        CAPTURE(length);
        const std::string name = name_of_length(length);
        // A dot and at least one digit follow.
        const bool fits = length + 2 <= longest_directory();
        const Outcome outcome = file.register_event(&word, 0, name, 4, USER_EVENT_REG_MULTI_FORMAT);
        CHECK(outcome == (fits ? succeeds() : fails(EINVAL)));
        CHECK((status().find("\n" + name + ".") != std::string::npos ||
               status().starts_with(name + ".")) == fits);
        CHECK(file.unregister(&word, 0) == (fits ? succeeds() : fails(ENOENT)));
    }
    CHECK_THAT(log.read(), !Catch::Contains("tracefs"));
}

TEST_CASE("REG accepts field names with punctuation, digits and UTF-8") {
    for (const char* name : {"a-b", "a.b", "a:b", "é", "_", "0", "http.status-code", "a:b:c"}) {
        CAPTURE(name);
        const Registered registered(std::string(" u32 ") + name);
        REQUIRE(registered.outcome == succeeds());
        CHECK(has_line(registered.event.format(),
                       field_line(std::string("u32 ") + name, 8, 4, false)));
    }
}

// libtraceevent evaluates expressions in the print format, including divisions by zero and reads
// from any address, and its users usually are root.
TEST_CASE("The print format replaces characters of field names that tools would evaluate") {
    struct Case {
        const char* fields;
        const char* print; // after "print fmt: "
    };
    const Case cases[] = {
        {" u8 b[(1/0)]", "\"b__1_0__=%u\", REC->b__1_0__"},
        {" u8 b[__print_hex(1/0,1)]", "\"b___print_hex_1_0_1__=%u\", REC->b___print_hex_1_0_1__"},
        {" u8 b[\",__print_hex(1%0,1),\"]",
         "\"b_____print_hex_1_0_1____=%u\", REC->b_____print_hex_1_0_1____"},
        {" char[1] a;u8 b[\",__print_array(REC->x,99999999,8),\"];u32 x",
         "\"a=%s b_____print_array_REC-_x_99999999_8____=%u x=%u\", REC->a, "
         "REC->b_____print_array_REC-_x_99999999_8____, REC->x"},
        {" char[1] a;u8 b[\",__print_hex_str(REC->x,30),\"];u32 x",
         "\"a=%s b_____print_hex_str_REC-_x_30____=%u x=%u\", REC->a, "
         "REC->b_____print_hex_str_REC-_x_30____, REC->x"},
        {" u8 100%s", "\"100_s=%u\", REC->100_s"},
        {" u8 \\\"", "\"__=%u\", REC->__"},
        {" __rel_loc char[] a),f(1/0", "\"a__f_1_0=%s\", __get_rel_str(a__f_1_0)"},
        {" u8 a-b; u8 c.d; u8 e:f; u8 é",
         "\"a-b=%u c.d=%u e:f=%u é=%u\", REC->a-b, REC->c.d, REC->e:f, REC->é"},
        // The print format contains no text of a type.
        {" __data_loc (1/0) a; struct \"%s,(1/0) b 4", "\"a=%llu b=%llu\", REC->a, REC->b"},
    };
    for (const Case& test : cases) {
        CAPTURE(test.fields);
        const Registered registered(test.fields);
        REQUIRE(registered.outcome == succeeds());
        CHECK(has_line(registered.event.format(), std::string("print fmt: ") + test.print));
        CHECK(print_in_child(registered.event) == 0);
    }
    // The field's line and dynamic_events show the name unchanged.
    const Registered registered(" u8 b[(1/0)]");
    CHECK(has_line(registered.event.format(), field_line("u8 b[(1/0)]", 8, 1, false)));
    CHECK(read_text(tracing_file("dynamic_events"))
              .find(registered.event.name() + " u8 b[(1/0)]\n") != std::string::npos);
}

TEST_CASE("The format file lists every field of a command of 480 characters") {
    std::string command;
    int count = 0;
    while (command.size() < 480)
        command += (count == 0 ? " u8 f" : ";u8 f") + std::to_string(count), count++;
    const Registered registered(command, unique_name("many"));
    REQUIRE(registered.outcome == succeeds());
    const Format format(registered.event);
    for (int i = 0; i < count; i++)
        REQUIRE(format.field("f" + std::to_string(i)).offset == 8 + i);
}
