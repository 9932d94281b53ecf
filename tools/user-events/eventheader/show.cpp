// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/show.hpp"

namespace tool::eventheader {

void append_name(std::string& to, const shown_event& shown) {
    if (shown.event.name_and_attributes.data() == nullptr) {
        to += shown.tracepoint;
        return;
    }
    to += shown.name.provider;
    to += ':';
    append_unescaped(to, name_of(shown.event));
}

} // namespace tool::eventheader
