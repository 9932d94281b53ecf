// SPDX-License-Identifier: GPL-2.0-only
#include "usdt.hpp"

#include "text_file.hpp"

#include <cstring>
#include <elf.h>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace bench {

namespace {

template <typename T>
T read_at(std::string_view file, std::size_t offset) {
    T value;
    if (offset > file.size() || file.size() - offset < sizeof(value))
        throw std::runtime_error("the program's ELF file ends too early");
    std::memcpy(&value, file.data() + offset, sizeof(value));
    return value;
}

template <typename T>
std::vector<T> table(std::string_view file, std::size_t offset, std::size_t count) {
    std::vector<T> entries;
    for (std::size_t i = 0; i < count; i++)
        entries.push_back(read_at<T>(file, offset + i * sizeof(T)));
    return entries;
}

std::size_t padded(std::size_t size) {
    return (size + 3) / 4 * 4;
}

/// A note's descriptor: three addresses, of which the first is the probe's, and three strings.
struct Descriptor {
    explicit Descriptor(std::string_view bytes) : address(read_at<Elf64_Addr>(bytes, 0)) {
        bytes.remove_prefix(3 * sizeof(Elf64_Addr));
        for (std::string* text : {&provider, &name, &arguments}) {
            *text = bytes.substr(0, bytes.find('\0'));
            bytes.remove_prefix(text->size() + 1);
        }
    }

    Elf64_Addr address;
    std::string provider, name, arguments;
};

std::vector<Descriptor> descriptors(std::string_view file, const Elf64_Shdr& section) {
    std::vector<Descriptor> found;
    std::size_t at = section.sh_offset;
    while (at < section.sh_offset + section.sh_size) {
        const auto note = read_at<Elf64_Nhdr>(file, at);
        const std::size_t start = at + sizeof(note) + padded(note.n_namesz);
        found.emplace_back(file.substr(start, note.n_descsz));
        at = start + padded(note.n_descsz);
    }
    return found;
}

} // namespace

UsdtProbe find_usdt_probe(const std::string& provider, const std::string& name) {
    const std::string file = selftest::read_text("/proc/self/exe");
    const auto header = read_at<Elf64_Ehdr>(file, 0);
    const auto sections = table<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
    const std::size_t names = sections.at(header.e_shstrndx).sh_offset;
    std::vector<UsdtProbe> found;
    for (const Elf64_Shdr& section : sections) {
        if (std::strcmp(file.c_str() + names + section.sh_name, ".note.stapsdt") != 0)
            continue;
        for (const Descriptor& probe : descriptors(file, section)) {
            if (probe.provider != provider || probe.name != name)
                continue;
            for (const auto& segment : table<Elf64_Phdr>(file, header.e_phoff, header.e_phnum))
                if (segment.p_type == PT_LOAD && probe.address >= segment.p_vaddr &&
                    probe.address < segment.p_vaddr + segment.p_filesz)
                    found.push_back(
                        {probe.address - segment.p_vaddr + segment.p_offset, probe.arguments});
        }
    }
    if (found.size() != 1)
        throw std::runtime_error("the program has " + std::to_string(found.size()) +
                                 " probes named " + provider + ":" + name);
    return found[0];
}

std::string register_of(const UsdtProbe& probe, unsigned index) {
    std::istringstream words(probe.arguments);
    std::string word;
    for (unsigned i = 0; i <= index; i++)
        words >> word;
    const std::size_t at = word.find("@%");
    if (!words || at == std::string::npos)
        throw std::runtime_error("not in a register: argument " + std::to_string(index) + " of " +
                                 probe.arguments);
    // tracefs names the registers ax, bx, ..., r8, r9, ... whatever the size of the argument.
    std::string name = word.substr(at + 2);
    if (std::isdigit(name[1]))
        return "%" + name.substr(0, name.find('d'));
    return "%" + (name.size() == 3 ? name.substr(1) : name);
}

} // namespace bench
