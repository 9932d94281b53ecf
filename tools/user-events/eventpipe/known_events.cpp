// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventpipe/known_events.hpp"

#include <algorithm>

namespace tool::eventpipe {

namespace {

/// What an event takes besides what it says.
constexpr std::size_t own_size = 512;

/// The number at the beginning is only one of the session's.
std::string without_number(bytes metadata) {
    return std::string(
        eventheader::to_text(metadata.subspan(std::min<std::size_t>(4, metadata.size()))));
}

std::size_t size_of(const description& of) {
    std::size_t result =
        of.provider.size() + of.name.size() + of.fields.size() * sizeof(eventheader::field);
    for (const std::string& name : of.names)
        result += name.size() + sizeof(std::string);
    return result;
}

bool is_same_event(const description& a, const description& b) {
    return a.provider == b.provider && a.name == b.name;
}

} // namespace

const description* known_events::find(int process, int tracepoint, const message& message) {
    const key key{tracepoint, message.id};
    const labels labels = to_labels(message.extension);
    if (labels.has_metadata && message.version == known_version)
        learn(process, key, labels.metadata);
    const auto program = programs_.find(process);
    if (program == programs_.end())
        return nullptr;
    const auto found = program->second.events.find(key);
    return found == program->second.events.end() || !found->second.description
               ? nullptr
               : &*found->second.description;
}

/// A new version of an event replaces the one before it, of a process that had the same number.
void known_events::learn(int process, const key& key, bytes metadata) {
    program& of = programs_[process];
    known& known = of.events[key];
    std::string said = without_number(metadata);
    if (known.size != 0 && known.metadata == said)
        return;
    auto made = to_description(metadata);
    if (made && made->id != key.id)
        made.reset();
    const bool is_ambiguous = known.size != 0 && (!known.description || !made ||
                                                  !is_same_event(*known.description, *made));
    if (is_ambiguous)
        made.reset();
    of.size -= known.size;
    size_ -= known.size;
    known.size = own_size + said.size() + (made ? size_of(*made) : 0);
    known.metadata = std::move(said);
    known.description = std::move(made);
    of.size += known.size;
    size_ += known.size;
    limit();
}

void known_events::limit() {
    while (size_ > most_bytes) {
        const auto largest =
            std::max_element(programs_.begin(), programs_.end(), [](const auto& a, const auto& b) {
                return a.second.size < b.second.size;
            });
        size_ -= largest->second.size;
        programs_.erase(largest);
    }
}

} // namespace tool::eventpipe
