// SPDX-License-Identifier: GPL-2.0-only
// What people see of a payload.
#pragma once

#include "decoded.hpp"
#include "eventheader/show.hpp"

#include <string>
#include <vector>

namespace eventheader_test {

inline const std::vector<std::string> all_fields;

inline std::string line(const std::string& bytes, const char* tracepoint = "P_L5K0",
                        const std::vector<std::string>& chosen = all_fields) {
    const payload_copy copy(bytes);
    std::string result;
    append_line(result, tool::eventheader::shown_event(tracepoint, copy.bytes(), chosen));
    return result;
}

inline std::string json(const std::string& bytes, const char* tracepoint = "P_L5K0",
                        const std::vector<std::string>& chosen = all_fields) {
    const payload_copy copy(bytes);
    std::string result = "{";
    append_json_members(result, tool::eventheader::shown_event(tracepoint, copy.bytes(), chosen));
    return result + "}";
}

} // namespace eventheader_test
