// SPDX-License-Identifier: GPL-2.0-or-later
// What OpenTelemetry calls a resource: the process that made a record, and its machine.
#pragma once

#include "otlp/attributes.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tool::otlp {

/// The names of services, by programs: `PROGRAM=SERVICE`. Throws text::usage_error.
std::map<std::string, std::string> to_services(const std::vector<std::string>& texts);

/// What a program says of its own resource; empty if it says nothing.
struct service {
    std::string name;
    std::string instance;
};

class resources {
public:
    /// `is_here` says whether the records are of processes of this machine, which /proc knows.
    /// Records that name no machine are of `host`, or if that is empty, of this one.
    resources(std::map<std::string, std::string> services, bool is_here, std::string host);

    /// A text that identifies the resource of a record.
    const std::string& key_of(const recording::record& record);
    /// The same if the record itself names its service. The names have no NUL.
    std::string key_of(const recording::record& record, const service& own);
    /// The resource with this key. The empty key is that of user-events itself.
    const message::Resource& find(const std::string& key);
    const message::Resource& own() const noexcept { return own_; }

    /// Looks at processes again: one may have started another program, or have another user or
    /// control group, or a new one may have the number of one that has ended.
    void refresh() {
        keys_.clear();
        refreshes_++;
    }

private:
    /// What the kernel says of a process. It has an owner until it ends.
    struct standing {
        std::string container;
        std::string owner;
    };
    struct known {
        message::Resource resource;
        /// When it was made, as a number of refreshes.
        std::uint64_t refreshes;
    };

    standing standing_of(int process) const;
    message::Resource describe(int process, const std::string& host, const std::string& program,
                               const service& own, const standing& has) const;

    std::map<std::string, std::string> services_;
    bool is_here_;
    std::string host_;
    message::Resource own_;
    /// By the numbers that processes have in records, which differ between machines.
    std::map<int, std::string> keys_;
    /// Those that were needed lately.
    std::map<std::string, known> found_;
    std::uint64_t refreshes_ = 0;
};

} // namespace tool::otlp
