// SPDX-License-Identifier: GPL-2.0-only
// Fuzzes what the command line tool makes of payloads that describe themselves. The first byte
// chooses the tracepoint's name. If its highest bit is 0, the others are the payload of an
// EventHeader event. Otherwise they are records of .NET: version, number, size of the extension,
// size of the payload (a byte each, but the sizes two), extension and payload.
#include "eventheader/cells.hpp"
#include "eventheader/payload_filter.hpp"
#include "eventheader/show.hpp"
#include "eventpipe/known_events.hpp"
#include "input.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr const char* tracepoints[] = {"P_L5K1", "My_Provider_L4Kff00Ggroup", "other", ""};

using tool::eventheader::shown_event;

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

void show(const shown_event& shown, const std::vector<std::byte>& payload) {
    std::string line, json = "{\"system\":\"s\"";
    append_line(line, shown);
    for (const char c : line)
        require(static_cast<unsigned char>(c) >= ' ');
    append_json_members(json, shown);
    require_balance(json + "}");
    tool::eventheader::cell_row().fill(shown);
    static auto filter = tool::eventheader::filter::parse(
        "a >= 5 || a.b ~ 'x*' && !(a =~ '^.$') || level & 4 || event == E || b == -1.5");
    filter->passes(shown, {"task", 1, 0});
    // The payload as a filter. A regular expression may take any time.
    const std::string text(reinterpret_cast<const char*>(payload.data()), payload.size());
    if (auto made =
            text.find('~') == text.npos ? tool::eventheader::filter::parse(text) : std::nullopt)
        made->passes(shown, {"task", 1, 0});
}

using bytes = std::span<const std::uint8_t>;

/// Memory of just its size.
std::vector<std::byte> take(bytes& from, std::size_t size) {
    size = std::min(size, from.size());
    std::vector<std::byte> result(size);
    if (size)
        std::memcpy(result.data(), from.data(), size);
    from = from.subspan(size);
    return result;
}

unsigned take_number(bytes& from, std::size_t size) {
    unsigned result = 0;
    for (const std::byte each : take(from, size))
        result = result << 8 | std::to_integer<unsigned>(each);
    return result;
}

void show_dotnet(bytes from, const char* tracepoint, const std::vector<std::string>& chosen) {
    tool::eventpipe::known_events known;
    for (int i = 0; i < 16 && !from.empty(); i++) {
        const auto version = static_cast<std::uint8_t>(take_number(from, 1));
        const auto id = static_cast<std::uint16_t>(take_number(from, 1));
        const std::size_t extension_size = take_number(from, 2), size = take_number(from, 2);
        const auto extension = take(from, extension_size), payload = take(from, size);
        const tool::eventpipe::message message{version, id, extension, payload};
        const auto* const description = known.find(id % 2, 1, message);
        show(to_shown_event(tracepoint, message, description, chosen), payload);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::vector<std::string> chosen(data[0] & 4 ? 1 : 0, "a");
    const char* const tracepoint = tracepoints[data[0] % 4];
    bytes rest(data + 1, size - 1);
    if (data[0] & 0x80) {
        show_dotnet(rest, tracepoint, chosen);
        return 0;
    }
    const auto payload = take(rest, rest.size());
    show(shown_event(tracepoint, payload, chosen), payload);
    return 0;
}
