// SPDX-License-Identifier: GPL-2.0-or-later
// Formats that records are exported to. Each is in a file of its name.
#pragma once

#include "recording/record.hpp"
#include "text/new_file.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tool::exporting {

/// Two events that begin and end something, which a field with the same value identifies.
struct pair {
    std::string begin;
    std::string end;
    std::string key;
};

struct options {
    /// For the formats that are one file: the file, or nullptr for standard output. It has to exist
    /// as long as the exporter.
    text::new_file* file = nullptr;
    /// For the formats that are a directory: what the directory is called at the end, for messages.
    /// The files are written with add_to_file().
    std::string directory;
    std::vector<pair> pairs;
    /// What is exported, for titles.
    std::string source;
};

/// Takes records and gaps in the order of their times. Their events have to exist until finish()
/// has returned. The functions throw text::failure.
class exporter {
public:
    virtual ~exporter() = default;
    virtual void add(const recording::record& record) = 0;
    /// Records that are missing, before the next one. Formats that cannot say so leave this out.
    virtual void add_gap(const recording::gap& /*gap*/) {}
    /// After the last record.
    virtual void finish() = 0;
};

std::unique_ptr<exporter> make_json(const options& options);
std::unique_ptr<exporter> make_csv(const options& options);
std::unique_ptr<exporter> make_perfetto(const options& options);
std::unique_ptr<exporter> make_perfetto_json(const options& options);
std::unique_ptr<exporter> make_ctf(const options& options);
std::unique_ptr<exporter> make_ctf2(const options& options);
std::unique_ptr<exporter> make_html(const options& options);

} // namespace tool::exporting
