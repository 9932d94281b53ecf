// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/symbols.hpp"

#include "recording/sandbox.hpp"
#include "text/errors.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <memory>
#include <optional>
#include <string_view>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace tool::tracing {

namespace {

/// Larger files and tables are left out: a hostile one is sparse, and has no end.
constexpr off_t largest_file = off_t{8} << 30;
constexpr std::size_t most_symbols = 32'000'000;
/// Seconds of the processor for all files.
constexpr rlim_t most_time = 60;
/// Longer names are cut: a program chooses them, and a recording has one for each process that has
/// been in the function. What a compiler has made of a name is longer than what it means.
constexpr std::size_t longest_name = 500;
constexpr std::size_t longest_mangled_name = 4096;

struct file {
    int descriptor;
    tracing::object object;
    std::vector<std::uint64_t> offsets;
};

/// The file of this path, or -1. The path may have become that of another file, or of a device:
/// that is not opened, because opening a watchdog or a tape has effects.
int open_object(const std::string& path, std::uint64_t inode) {
    const int place = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (place < 0)
        return -1;
    struct stat found {};
    int descriptor = -1;
    // A lease that a process has on the file makes a blocking open() wait.
    if (fstat(place, &found) == 0 && S_ISREG(found.st_mode) && found.st_ino == inode &&
        found.st_size <= largest_file)
        descriptor =
            open(fmt::format("/proc/self/fd/{}", place).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    close(place);
    return descriptor;
}

std::vector<file> open_objects(const wanted_places& wanted) {
    std::vector<file> result;
    for (const auto& [object, offsets] : wanted) {
        int descriptor =
            open_object(fmt::format("/proc/{}/root{}", object.process, object.path), object.inode);
        if (descriptor < 0)
            descriptor = open_object(object.path, object.inode);
        if (descriptor >= 0)
            result.push_back({descriptor, object, {offsets.begin(), offsets.end()}});
    }
    return result;
}

std::string demangled(const char* name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
    return status == 0 && text ? text.get() : name;
}

/// What a user gets to see of a name.
std::string shown_name(const char* name) {
    std::string result = strnlen(name, longest_mangled_name) < longest_mangled_name
                             ? demangled(name)
                             : std::string(name, longest_mangled_name);
    if (result.size() > longest_name)
        result.replace(longest_name, result.npos, "...");
    return result;
}

/// Where a place of the file is in memory, as the symbols count it.
std::optional<std::uint64_t> to_address(Elf* elf, std::uint64_t offset) {
    std::size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0)
        return {};
    for (std::size_t i = 0; i < count; i++) {
        GElf_Phdr part;
        if (gelf_getphdr(elf, static_cast<int>(i), &part) && part.p_type == PT_LOAD &&
            offset - part.p_offset < part.p_filesz)
            return offset - part.p_offset + part.p_vaddr;
    }
    return {};
}

/// The names of the places, by their addresses.
class named_addresses {
public:
    explicit named_addresses(const std::vector<std::uint64_t>& offsets, Elf* elf) {
        for (const std::uint64_t offset : offsets)
            if (const auto address = to_address(elf, offset))
                places_.push_back({*address, offset, {}});
        std::sort(places_.begin(), places_.end(),
                  [](const place& a, const place& b) { return a.address < b.address; });
    }

    void take(Elf* elf, Elf_Scn* section, const GElf_Shdr& head) {
        Elf_Data* const data = elf_getdata(section, nullptr);
        if (!data || head.sh_entsize == 0)
            return;
        const std::size_t count =
            std::min<std::size_t>(data->d_size / head.sh_entsize, most_symbols);
        for (std::size_t i = 0; i < count; i++) {
            GElf_Sym symbol;
            if (!gelf_getsym(data, static_cast<int>(i), &symbol))
                return;
            const auto type = GELF_ST_TYPE(symbol.st_info);
            if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF)
                continue;
            auto at = std::lower_bound(
                places_.begin(), places_.end(), symbol.st_value,
                [](const place& place, std::uint64_t value) { return place.address < value; });
            for (; at != places_.end() && at->address - symbol.st_value < symbol.st_size; ++at)
                if (const char* const name = elf_strptr(elf, head.sh_link, symbol.st_name);
                    name && at->name.empty())
                    at->name =
                        fmt::format("{}+{:#x}", shown_name(name), at->address - symbol.st_value);
        }
    }

    /// A line for each: number of the file, place, name.
    void print(std::size_t file) const {
        for (const place& place : places_) {
            std::string name = place.name;
            std::replace(name.begin(), name.end(), '\n', ' ');
            if (!name.empty())
                std::printf("%zu %llu %s\n", file, static_cast<unsigned long long>(place.offset),
                            name.c_str());
        }
        std::fflush(stdout);
    }

private:
    struct place {
        std::uint64_t address;
        std::uint64_t offset;
        std::string name;
    };
    std::vector<place> places_;
};

void print_names(std::size_t number, const file& file) {
    const std::unique_ptr<Elf, int (*)(Elf*)> elf(
        elf_begin(file.descriptor, ELF_C_READ_MMAP, nullptr), elf_end);
    if (!elf || elf_kind(elf.get()) != ELF_K_ELF)
        return;
    named_addresses names(file.offsets, elf.get());
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section));) {
        GElf_Shdr head;
        if (gelf_getshdr(section, &head) &&
            (head.sh_type == SHT_SYMTAB || head.sh_type == SHT_DYNSYM))
            names.take(elf.get(), section, head);
    }
    names.print(number);
}

/// In the child process.
[[noreturn]] void read_in_sandbox(const std::vector<file>& files, int output) {
    dup2(output, STDOUT_FILENO);
    const rlimit time{most_time, most_time};
    setrlimit(RLIMIT_CPU, &time);
    recording::enter_sandbox({});
    elf_version(EV_CURRENT);
    for (std::size_t i = 0; i < files.size(); i++)
        print_names(i, files[i]);
    std::_Exit(0);
}

/// A file may have taken over the child: what comes from it has a limit here, too.
named_places to_places(const std::vector<file>& files, int input) {
    named_places result;
    const std::unique_ptr<FILE, int (*)(FILE*)> lines(fdopen(input, "r"), std::fclose);
    std::array<char, longest_name + 100> line{};
    while (std::fgets(line.data(), static_cast<int>(line.size()), lines.get())) {
        std::size_t number = 0;
        unsigned long long offset = 0;
        int name = 0;
        const std::string_view text(line.data());
        if (std::sscanf(line.data(), "%zu %llu %n", &number, &offset, &name) == 2 && name > 0 &&
            number < files.size() && text.ends_with('\n') &&
            std::binary_search(files[number].offsets.begin(), files[number].offsets.end(), offset))
            result[{files[number].object, offset}] =
                text.substr(static_cast<std::size_t>(name), text.size() - name - 1);
    }
    return result;
}

} // namespace

named_places find_symbols(const wanted_places& wanted) {
    const std::vector<file> files = open_objects(wanted);
    if (files.empty())
        return {};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        throw text::failure("cannot create a pipe");
    const pid_t child = fork();
    if (child == 0)
        read_in_sandbox(files, ends[1]);
    close(ends[1]);
    named_places result;
    if (child > 0)
        result = to_places(files, ends[0]);
    else
        close(ends[0]);
    for (const file& file : files)
        close(file.descriptor);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        text::warn("not all names of functions could be read");
    return result;
}

} // namespace tool::tracing
