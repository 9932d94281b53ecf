// SPDX-License-Identifier: GPL-2.0-only
// Names of functions, from files that may have become anything.
#include "tracing/symbols.hpp"

#include "catch.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace {

using tool::tracing::find_symbols;
using tool::tracing::object;

/// A directory that is removed in the end.
class directory {
public:
    directory() {
        std::string name = "/tmp/symbols_test.XXXXXX";
        path_ = mkdtemp(name.data());
    }
    directory(const directory&) = delete;
    directory& operator=(const directory&) = delete;
    ~directory() { std::filesystem::remove_all(path_); }

    std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

private:
    std::string path_;
};

object to_object(const std::string& path) {
    struct stat found {};
    REQUIRE(stat(path.c_str(), &found) == 0);
    return {path, found.st_ino, getpid()};
}

/// The place of a function of this program in its file.
std::uint64_t place_of(void (*function)()) {
    const auto wanted = reinterpret_cast<std::uint64_t>(function);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::uint64_t start = 0, end = 0, offset = 0;
        if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end,
                        &offset) == 3 &&
            wanted - start < end - start)
            return wanted - start + offset;
    }
    return 0;
}

void write(const std::string& path, std::string_view content) {
    std::ofstream(path, std::ios::binary) << content;
}

/// The head of an ELF file with these sections, which are behind an empty one.
std::string elf_with(std::vector<Elf64_Shdr> sections) {
    Elf64_Ehdr head{};
    Elf64_Phdr part{};
    sections.insert(sections.begin(), Elf64_Shdr{});
    const unsigned char magic[] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1};
    std::copy(std::begin(magic), std::end(magic), head.e_ident);
    head.e_type = ET_DYN;
    head.e_machine = EM_X86_64;
    head.e_version = EV_CURRENT;
    head.e_phoff = sizeof(head);
    head.e_phentsize = sizeof(part);
    head.e_phnum = 1;
    head.e_shoff = sizeof(head) + sizeof(part);
    head.e_shentsize = sizeof(Elf64_Shdr);
    head.e_shnum = static_cast<Elf64_Half>(sections.size());
    head.e_ehsize = sizeof(head);
    part.p_type = PT_LOAD;
    part.p_filesz = part.p_memsz = UINT64_MAX;
    std::string result(reinterpret_cast<const char*>(&head), sizeof(head));
    result.append(reinterpret_cast<const char*>(&part), sizeof(part));
    result.append(reinterpret_cast<const char*>(sections.data()),
                  sections.size() * sizeof(Elf64_Shdr));
    return result;
}

/// A table of symbols of so many bytes, from byte 4096 on. Its names are in section 2.
Elf64_Shdr symbols(std::uint64_t size) {
    Elf64_Shdr result{};
    result.sh_type = SHT_SYMTAB;
    result.sh_offset = 4096;
    result.sh_size = size;
    result.sh_link = 2;
    result.sh_entsize = sizeof(Elf64_Sym);
    return result;
}

/// The head of an ELF file whose only section is such a table.
std::string elf_with_symbols(std::uint64_t size) {
    return elf_with({symbols(size)});
}

/// An ELF file with a function of this name, in its first 4096 bytes.
std::string elf_with_function(const std::string& name) {
    Elf64_Shdr names{};
    names.sh_type = SHT_STRTAB;
    names.sh_offset = 8192;
    names.sh_size = name.size() + 2;
    Elf64_Sym function{};
    function.st_name = 1;
    function.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    function.st_shndx = 1;
    function.st_size = 4096;
    std::string result = elf_with({symbols(sizeof(function)), names});
    result.resize(symbols(0).sh_offset);
    result.append(reinterpret_cast<const char*>(&function), sizeof(function));
    result.resize(names.sh_offset);
    return result + '\0' + name + '\0';
}

/// The name that the function gets in a recording.
std::string found_name(const std::string& name) {
    const directory in;
    write(in.file("elf"), elf_with_function(name));
    const object file = to_object(in.file("elf"));
    const auto names = find_symbols({{file, {1}}});
    REQUIRE(names.count({file, 1}) == 1);
    return names.at({file, 1});
}

} // namespace

void function_with_a_name();
void function_with_a_name() {
    std::puts("");
}

TEST_CASE("A place in a function of this program has its name, demangled") {
    const object own = to_object(std::filesystem::read_symlink("/proc/self/exe"));
    const std::uint64_t place = place_of(function_with_a_name) + 1;
    const auto names = find_symbols({{own, {place, 0}}});
    REQUIRE(names.count({own, place}) == 1);
    CHECK(names.at({own, place}) == "function_with_a_name()+0x1");
}

TEST_CASE("A file of another inode is not read") {
    object own = to_object(std::filesystem::read_symlink("/proc/self/exe"));
    own.inode++;
    CHECK(find_symbols({{own, {place_of(function_with_a_name)}}}).empty());
}

TEST_CASE("What is no program any more has no names, and nothing waits for it") {
    const directory in;
    REQUIRE(mkfifo(in.file("fifo").c_str(), 0600) == 0);
    write(in.file("empty"), "");
    write(in.file("text"), "no ELF file");
    write(in.file("head"), elf_with_symbols(24000).substr(0, 100));
    write(in.file("cut"), elf_with_symbols(24000));
    for (const char* const name : {"fifo", "empty", "text", "head", "cut"}) {
        INFO(name);
        CHECK(find_symbols({{to_object(in.file(name)), {1, 5000, UINT64_MAX}}}).empty());
    }
    CHECK(find_symbols({{{in.file("gone"), 1, getpid()}, {1}}}).empty());
}

TEST_CASE("A device in the place of a program is not opened") {
    const directory in;
    write(in.file("elf"), elf_with_function("cook"));
    object file = to_object(in.file("elf"));
    std::filesystem::remove(file.path);
    // A master whose slave was never opened has had no hangup.
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(unlockpt(master) == 0);
    std::filesystem::create_symlink(ptsname(master), file.path);
    for (const std::uint64_t inode : {file.inode, to_object(file.path).inode}) {
        file.inode = inode;
        CHECK(find_symbols({{file, {1}}}).empty());
        pollfd hangup{master, 0, 0};
        CHECK(poll(&hangup, 1, 0) == 0);
    }
    close(master);
}

TEST_CASE("A sparse file with a table of symbols that has no end is left out") {
    const directory in;
    constexpr std::uint64_t size = std::uint64_t{3} << 30;
    for (const std::uint64_t each : {size, size * 4}) {
        const std::string path = in.file(std::to_string(each));
        write(path, elf_with_symbols(each));
        REQUIRE(truncate(path.c_str(), static_cast<off_t>(4096 + each)) == 0);
        CHECK(find_symbols({{to_object(path), {1}}}).empty());
    }
}

TEST_CASE("A name that is too long is cut, also if it gets long only when it is demangled") {
    CHECK(found_name("cook") == "cook+0x1");
    CHECK(found_name(std::string(500, 'x')) == std::string(500, 'x') + "+0x1");
    for (const std::size_t size : {501, 5000, 1 << 20})
        CHECK(found_name(std::string(size, 'x')) == std::string(500, 'x') + "...+0x1");
    const std::string demangled = found_name("_Z1fI" + std::string(1000, 'i') + "Evv");
    CHECK(demangled.starts_with("void f<int, int, "));
    CHECK(demangled.size() == 500 + std::string_view("...+0x1").size());
}
