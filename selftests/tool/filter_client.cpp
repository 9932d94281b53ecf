// SPDX-License-Identifier: GPL-2.0-only
// Asks the kernel which records pass a filter.
//
//	filter_client SEED FILTERS
//
// Makes filters, and records with values at the limits of their types. Prints a line for each
// filter: the filter, a tab, and the numbers of the records that the kernel has let pass. Leaves
// all records in the instance t_filter_all.
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <linux/user_events.h>
#include <random>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

constexpr int records = 50;
/// The size of what all records begin with.
constexpr std::size_t common_fields = 8;
constexpr std::string_view instances = "/sys/kernel/tracing/instances/";

[[noreturn]] void fail(const std::string& what) {
    std::perror(what.c_str());
    std::exit(1);
}

/// Returns the errno.
int put(const std::string& path, std::string_view text) {
    const int file = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (file < 0)
        fail(path);
    const int error = write(file, text.data(), text.size()) < 0 ? errno : 0;
    close(file);
    return error;
}

struct number_field {
    const char* name;
    const char* type;
    unsigned size;
    bool is_signed;
};
constexpr number_field numbers[] = {
    {"a", "s8", 1, true},    {"b", "u8", 1, false},
    {"c", "short", 2, true}, {"d", "u16", 2, false},
    {"e", "int", 4, true},   {"f", "u32", 4, false},
    {"g", "s64", 8, true},   {"h", "u64", 8, false},
    {"i", "char", 1, true},  {"j", "unsigned char", 1, false},
};
/// Of all events. The program stays on one CPU.
constexpr const char* common_comparisons[] = {
    "cpu==0",
    "CPU != 0",
    "common_cpu >= 0",
    "cpu<-1",
    "common_pid > 1",
    "common_pid&-1",
    "comm==\"filter_client\"",
    "COMM != 'a'",
    "comm~ 'f*_cli?n*'",
    "COMM ~ \"!filter*\"",
};
constexpr const char* texts[] = {"k", "l", "m", "n"};

class generator {
public:
    explicit generator(unsigned seed) : random_(seed) {}

    unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

    template <typename Array>
    auto one_of(const Array& array) {
        return array[below(static_cast<unsigned>(std::size(array)))];
    }

    std::uint64_t bits() {
        static constexpr std::uint64_t limits[] = {
            0,          1,          5,     65,    127,   128,        254,        255,
            256,        32767,      32768, 65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff,
            1ULL << 32, 1ULL << 63, ~0ULL, 200,   ~4ULL, ~127ULL};
        return one_of(limits);
    }
    std::string text(unsigned most) {
        std::string result;
        for (unsigned size = below(most + 1); result.size() < size;)
            result += one_of(std::string_view("aabc!-^1"));
        return result;
    }

    std::string filter() {
        std::string result = comparison();
        for (unsigned i = below(3); i > 0; i--) {
            const char* const between = one_of(std::array{" && ", "||", " || ", "&&"});
            if (below(3) == 0)
                result.insert(0, "(").append(")");
            result.append(between).append(comparison());
        }
        return below(6) ? result : "!(" + result + ")";
    }

private:
    std::string comparison() {
        const std::string result = !below(10) ? one_of(common_comparisons)
                                   : below(3) ? number_comparison()
                                              : text_comparison();
        return below(8) ? result : "!" + result;
    }
    std::string number_comparison() {
        const number_field& field = one_of(numbers);
        const std::string op = one_of(std::array{"==", "!=", "<", "<=", ">", ">=", "&", " & "});
        return field.name + op + number(field);
    }
    /// Any that the kernel can read for the field: it makes it one of the field's type.
    std::string number(const number_field& field) {
        std::uint64_t value = bits();
        if (field.is_signed)
            value &= ~(1ULL << 63);
        const bool is_negative = field.is_signed && below(2);
        char result[32];
        std::snprintf(result, sizeof(result), one_of(std::array{"%s%llu", "%s%#llx", "%s0%llo"}),
                      is_negative ? "-" : "", static_cast<unsigned long long>(value));
        return result;
    }
    std::string text_comparison() {
        const std::string field = one_of(texts);
        const char quote = one_of(std::string_view("\"'"));
        if (below(3))
            return field + one_of(std::array{"==", " != "}) + quote + text(3) + quote;
        return field + "~ " + quote + glob(field) + quote;
    }
    /// Without those that the kernel takes for others than the tool: see tool.rst. To Linux 6.1, a
    /// set of all but one also has the end of a text; no `b` comes behind that in k.
    std::string glob(const std::string& field) {
        const bool may_be_at_end = field == "m" || field == "n";
        std::string result = below(4) ? "" : "!";
        result += may_be_at_end && below(2) ? "*" : one_of(std::array{"a", "b", "?", "[ab]"});
        for (unsigned i = below(4); i > 0; i--)
            result += one_of(std::array{"a", "b", "*", "?", "[ab]", "[^a]", "[a-c]", "!", "\\a",
                                        "-", "1", field == "k" ? "[!a]b" : "c"});
        return result;
    }

    std::mt19937 random_;
};

class event {
public:
    event() : file_(open("/sys/kernel/tracing/user_events_data", O_RDWR | O_CLOEXEC)) {
        std::string command = "t_filter u32 number";
        for (const number_field& field : numbers)
            command += std::string("; ") + field.type + " " + field.name;
        command += "; char[8] k; unsigned char[4] l; __rel_loc char[] m; __data_loc char[] n";
        registration_.size = sizeof(registration_);
        registration_.enable_size = sizeof(enabled_);
        registration_.enable_addr = reinterpret_cast<std::uintptr_t>(&enabled_);
        registration_.name_args = reinterpret_cast<std::uintptr_t>(command.c_str());
        if (file_ < 0 || ioctl(file_, DIAG_IOCSREG, &registration_) != 0)
            fail(command);
    }
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    ~event() { close(file_); }

    void write(const std::string& payload) const {
        const std::array<iovec, 2> parts{
            iovec{const_cast<std::uint32_t*>(&registration_.write_index), sizeof(std::uint32_t)},
            iovec{const_cast<char*>(payload.data()), payload.size()}};
        if (writev(file_, parts.data(), parts.size()) < 0)
            fail("writev");
    }

private:
    int file_;
    std::uint32_t enabled_ = 0;
    user_reg registration_{};
};

std::vector<std::string> payloads(generator& from) {
    std::vector<std::string> result;
    const auto append = [](std::string& to, std::uint64_t value, std::size_t size) {
        to.append(reinterpret_cast<const char*>(&value), size);
    };
    for (unsigned i = 0; i < records; i++) {
        std::string payload;
        append(payload, i, 4);
        for (const number_field& field : numbers)
            append(payload, from.bits(), field.size);
        for (const auto& [size, most] : {std::pair(8U, 6U), {4U, 3U}}) {
            std::string text = from.text(most);
            text.resize(size);
            payload += text;
        }
        // The locations of m, from behind it, and of n, from the begin of the record.
        const std::string m = from.text(9), n = from.text(9);
        append(payload, (m.size() + 1) << 16 | 4, 4);
        append(payload, (n.size() + 1) << 16 | (common_fields + payload.size() + 4 + m.size() + 1),
               4);
        payload.append(m).append(1, '\0').append(n).append(1, '\0');
        result.push_back(std::move(payload));
    }
    return result;
}

/// The numbers of the records in an instance, each with a space behind it.
std::string numbers_in(const std::string& instance) {
    std::ifstream file(instance + "/trace");
    std::string result;
    constexpr std::string_view label = "t_filter: number=";
    for (std::string line; std::getline(file, line);)
        if (const auto at = line.find(label); at != line.npos)
            result += std::to_string(std::atoi(line.c_str() + at + label.size())) + " ";
    return result;
}

} // namespace

int main(int count, char** arguments) {
    if (count != 3)
        return 2;
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    if (sched_setaffinity(0, sizeof(first), &first) != 0)
        fail("sched_setaffinity");
    generator random(static_cast<unsigned>(std::atoi(arguments[1])));
    const event made;
    const std::string folder = "/events/user_events/t_filter/",
                      all = std::string(instances) + "t_filter_all",
                      asked = std::string(instances) + "t_filter";
    const auto written = payloads(random);
    for (const std::string& instance : {all, asked}) {
        if (mkdir(instance.c_str(), 0700) != 0)
            fail(instance);
        put(instance + folder + "enable", "1");
        for (int i = 0; instance == all && i < records; i++)
            made.write(written[static_cast<std::size_t>(i)]);
    }
    // The event stays enabled there: so it exists when this program has ended.
    put(all + "/tracing_on", "0");
    for (int filters = std::atoi(arguments[2]); filters > 0; filters--) {
        const std::string filter = random.filter();
        if (put(asked + folder + "filter", filter) != 0)
            fail(filter);
        put(asked + "/trace", "");
        for (const std::string& payload : written)
            made.write(payload);
        std::printf("%s\t%s\n", filter.c_str(), numbers_in(asked).c_str());
    }
    put(asked + folder + "enable", "0");
    return rmdir(asked.c_str()) == 0 ? 0 : 1;
}
