// SPDX-License-Identifier: GPL-2.0-only
#include "config.hpp"

#include "text/errors.hpp"

#include <cerrno>
#include <fmt/format.h>
#include <fstream>
#include <toml++/toml.h>

namespace tool {

namespace {

[[noreturn]] void throw_at(const std::string& path, const toml::source_region& where,
                           std::string_view what) {
    throw text::usage_error(fmt::format("{}:{}: {}", path, where.begin.line, what),
                            "an entry is NAME = VALUE, in a table such as [serve]; the names are "
                            "those of options: listen = \":9927\"");
}

std::string to_text(const std::string& path, const toml::node& node) {
    if (const auto text = node.value_exact<std::string>())
        return *text;
    if (const auto number = node.value_exact<std::int64_t>())
        return std::to_string(*number);
    if (const auto number = node.value_exact<double>())
        return fmt::format("{}", *number);
    if (const auto is_set = node.value_exact<bool>())
        return *is_set ? "true" : "false";
    throw_at(path, node.source(), "this is no text, number, Boolean or list of them");
}

config_entry to_entry(const std::string& path, std::string_view name, const toml::node& node) {
    config_entry result{std::string(name), {}};
    if (const auto* const list = node.as_array())
        for (const toml::node& each : *list)
            result.values.push_back(to_text(path, each));
    else
        result.values.push_back(to_text(path, node));
    return result;
}

} // namespace

std::vector<config_entry> read_config(const std::string& path, const std::string& command) {
    std::ifstream file(path);
    if (!file)
        throw text::file_failure(errno, "read", path);
    toml::table document;
    try {
        document = toml::parse(file, path);
    } catch (const toml::parse_error& error) {
        throw_at(path, error.source(), error.description());
    }
    std::vector<config_entry> result;
    for (const auto& [name, node] : document) {
        const auto* const table = node.as_table();
        if (!table)
            throw_at(path, node.source(), "this entry is in no table");
        if (name != command)
            continue;
        for (const auto& [key, value] : *table)
            result.push_back(to_entry(path, key.str(), value));
    }
    return result;
}

} // namespace tool
