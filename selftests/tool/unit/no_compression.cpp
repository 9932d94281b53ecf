// SPDX-License-Identifier: GPL-2.0-only
// For 32_test: the libraries that compress are not there for 32 bits.
#include "recording/file_head.hpp"

namespace tool::recording {

std::string decompressed(compression /*how*/, std::string_view /*data*/, std::uint64_t /*size*/,
                         std::uint64_t /*most*/) {
    throw bad_file("is compressed");
}

} // namespace tool::recording
