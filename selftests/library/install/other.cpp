// SPDX-License-Identifier: MIT
#include "event.hpp"

const void* address_in_other() {
    installed(2);
    return &installed;
}
