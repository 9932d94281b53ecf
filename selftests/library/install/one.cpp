// SPDX-License-Identifier: MIT
#include "event.hpp"

/// Fails if the two translation units do not have the same event.
int main() {
    installed(1);
    return address_in_other() == static_cast<const void*>(&installed) ? 0 : 1;
}
