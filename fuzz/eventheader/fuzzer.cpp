// SPDX-License-Identifier: GPL-2.0-only
// Fuzzes what the command line tool makes of the payloads of EventHeader events: the first byte
// chooses the tracepoint's name, the others are the payload.
#include "eventheader/cells.hpp"
#include "eventheader/payload_filter.hpp"
#include "eventheader/show.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr const char* tracepoints[] = {"P_L5K1", "My_Provider_L4Kff00Ggroup", "other", ""};

using tool::eventheader::shown_event;

void require(bool condition) {
    if (!condition)
        std::abort();
}

/// Brackets that are not in a string have to fit.
void require_balance(const std::string& json) {
    std::string open;
    bool is_text = false;
    for (std::size_t i = 0; i < json.size(); i++) {
        const char c = json[i];
        require(static_cast<unsigned char>(c) >= ' ');
        if (is_text && c == '\\')
            i++;
        else if (c == '"')
            is_text = !is_text;
        else if (!is_text && (c == '{' || c == '['))
            open += c;
        else if (!is_text && (c == '}' || c == ']')) {
            require(open.ends_with(c == '}' ? '{' : '['));
            open.pop_back();
        }
    }
    require(open.empty() && !is_text);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::vector<std::string> chosen(data[0] & 4 ? 1 : 0, "a");
    // Memory of just its size.
    std::vector<std::byte> payload(size - 1);
    if (size > 1)
        std::memcpy(payload.data(), data + 1, size - 1);
    const shown_event shown(tracepoints[data[0] % 4], payload, chosen);
    std::string line, json = "{\"system\":\"s\"";
    append_line(line, shown);
    for (const char c : line)
        require(static_cast<unsigned char>(c) >= ' ');
    append_json_members(json, shown);
    require_balance(json + "}");
    to_cells(shown);
    static auto filter = tool::eventheader::filter::parse(
        "a >= 5 || a.b ~ 'x*' && !(a =~ '^.$') || level & 4 || event == E || b == -1.5");
    filter->passes(shown, {"task", 1, 0});
    // The payload as a filter. A regular expression may take any time.
    const std::string text(reinterpret_cast<const char*>(payload.data()), payload.size());
    if (auto made =
            text.find('~') == text.npos ? tool::eventheader::filter::parse(text) : std::nullopt)
        made->passes(shown, {"task", 1, 0});
    return 0;
}
