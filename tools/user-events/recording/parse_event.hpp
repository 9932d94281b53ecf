// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>

struct tep_event;
struct tep_handle;

namespace tool::recording {

/// Adds an event to those of the handle. libtraceevent takes only words of letters, digits and `_`
/// as names. user_events may have any others, and those of multi-format events have a dot. The
/// library is given words in place of such names, and the names are put back. Returns null if the
/// library cannot parse the format at all.
tep_event* parse_event(tep_handle* handle, std::string_view format, const std::string& system);

} // namespace tool::recording
