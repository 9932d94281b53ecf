// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/file_head.hpp"

#include <zlib.h>
#include <zstd.h>

namespace tool::recording {

std::string decompressed(compression how, std::string_view data, std::uint64_t size,
                         std::uint64_t most) {
    if (size > most)
        throw bad_file("is damaged: a compressed part is too large");
    std::string result(static_cast<std::size_t>(size), '\0');
    bool is_good = false;
    if (how == compression::zstd) {
        is_good = ZSTD_decompress(result.data(), result.size(), data.data(), data.size()) == size;
    } else if (how == compression::zlib) {
        uLongf made = result.size();
        is_good = uncompress(reinterpret_cast<Bytef*>(result.data()), &made,
                             reinterpret_cast<const Bytef*>(data.data()), data.size()) == Z_OK &&
                  made == size;
    }
    if (!is_good)
        throw bad_file("is damaged: its compressed parts cannot be read");
    return result;
}

} // namespace tool::recording
