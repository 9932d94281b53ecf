// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.hpp"

#include "text/errors.hpp"
#include "text/nearest.hpp"
#include "text/new_file.hpp"
#include "text/table.hpp"

#include <algorithm>
#include <fmt/format.h>
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

std::vector<config_entry> read_config(const std::string& path, const std::string& command,
                                      const std::vector<std::string>& commands) {
    std::string content;
    try {
        content = text::contents_of(path);
    } catch (const text::system_failure& error) {
        // A service that is started again and again would find it no better.
        throw text::usage_error(error.what(),
                                "--config names a file in TOML, such as the example fleet.toml "
                                "below /usr/share/doc or /usr/local/share/doc");
    }
    toml::table document;
    try {
        document = toml::parse(content, path);
    } catch (const toml::parse_error& error) {
        throw_at(path, error.source(), error.description());
    }
    std::vector<config_entry> result;
    for (const auto& [name, node] : document) {
        const auto* const table = node.as_table();
        if (!table)
            throw_at(path, node.source(), "this entry is in no table");
        if (std::find(commands.begin(), commands.end(), name.str()) == commands.end())
            throw text::usage_error(
                fmt::format("{}:{}: there is no table [{}]", path, node.source().begin.line,
                            name.str()),
                text::did_you_mean(name.str(), commands,
                                   fmt::format("the tables are {}", text::joined(commands))));
        if (name != command)
            continue;
        for (const auto& [key, value] : *table)
            result.push_back(to_entry(path, key.str(), value));
    }
    return result;
}

} // namespace tool
