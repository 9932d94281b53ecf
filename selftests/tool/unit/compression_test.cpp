// SPDX-License-Identifier: GPL-2.0-only
// What recordings have compressed, which may be any bytes.
#include "catch.hpp"
#include "recording/file_head.hpp"

#include <cstdint>
#include <string>
#include <zlib.h>

using namespace tool::recording;

TEST_CASE("what was compressed with zlib is decompressed, and nothing else is taken for it") {
    const std::string text(10'000, 'x');
    std::string packed(1000, '\0');
    uLongf size = packed.size();
    REQUIRE(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                     reinterpret_cast<const Bytef*>(text.data()), text.size()) == Z_OK);
    packed.resize(size);
    constexpr std::uint64_t most = 1 << 20;
    CHECK(decompressed(compression::zlib, packed, text.size(), most) == text);
    CHECK_THROWS_AS(decompressed(compression::zlib, packed, text.size() + 1, most), bad_file);
    CHECK_THROWS_AS(decompressed(compression::zlib, packed, text.size() - 1, most), bad_file);
    CHECK_THROWS_AS(decompressed(compression::zlib, "no", 100, most), bad_file);
    CHECK_THROWS_AS(decompressed(compression::zstd, packed, text.size(), most), bad_file);
    CHECK_NOTHROW(decompressed(compression::zlib, packed, text.size(), text.size()));
    CHECK_THROWS_AS(decompressed(compression::zlib, packed, text.size(), text.size() - 1),
                    bad_file);
}
