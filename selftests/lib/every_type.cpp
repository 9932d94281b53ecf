// SPDX-License-Identifier: GPL-2.0-only
#include "every_type.hpp"

#include "catch.hpp"

#include <vector>

namespace selftest {

EveryType::EveryType()
    : Registered(" s64 a; u64 b; s32 c; u32 d; int e; unsigned int f; s16 g; u16 h; short i;"
                 " unsigned short j; s8 k; u8 l; char[8] m; __rel_loc char[] n;"
                 " __data_loc char[] o; char p; unsigned char q; unsigned char[4] r;"
                 " struct eight s 8; struct five t 5; __rel_loc u8[] u; __data_loc u32[] v") {}

std::string EveryType::record(std::int32_t number) {
    const std::string near = "near " + std::to_string(number);
    const auto size = static_cast<std::uint32_t>(near.size() + 1);
    // The sizes of the payload's fixed fields and of the common fields. n ends at 54, u at 81.
    constexpr std::uint32_t fixed = 85, common = 8;
    const Payload payload = Payload()
                                .add<std::int64_t>(-5000000000 - number)
                                .add<std::uint64_t>(18000000000000000000u)
                                .add<std::int32_t>(number)
                                .add<std::uint32_t>(4000000000)
                                .add<std::int32_t>(-number)
                                .add<std::uint32_t>(3000000000)
                                .add<std::int16_t>(-30000)
                                .add<std::uint16_t>(60000)
                                .add<std::int16_t>(2)
                                .add<std::uint16_t>(65535)
                                .add<std::int8_t>(-100)
                                .add<std::uint8_t>(200)
                                .add_characters({"array\0\0\0", 8})
                                .add(location(fixed - 54, size))
                                .add(location(common + fixed + size, 4))
                                .add('A')
                                .add<unsigned char>(201)
                                .add_characters({"raw\0", 4})
                                .add<std::uint64_t>(12345678901)
                                .add_characters("five5")
                                .add(location(fixed - 81 + size + 4, 3))
                                .add(location(common + fixed + size + 7, 8))
                                .add_string(near)
                                .add_string("far")
                                .add_characters("abc")
                                .add<std::uint32_t>(1)
                                .add<std::uint32_t>(2);
    expect(file.record(index, payload), "write");
    const std::string text = std::to_string(number);
    return "a=" + std::to_string(-5000000000 - number) + " b=18000000000000000000 c=" + text +
           " d=4000000000 e=" + std::to_string(-number) +
           " f=3000000000 g=35536 h=60000 i=2 j=65535 k=156 l=200 m=array n=" + near +
           " o=far p=65 q=201 r=raw s=12345678901 t=0 u=196623 v=524395";
}

void check_reported(ToolFile::Tool tool, const std::string& all, const std::string& filter) {
    EveryType every;
    const ToolFile file(tool);
    const std::int32_t above = GENERATE(0, 3);
    CAPTURE(above);
    std::vector<std::string> expected;
    bool enabled = false;
    file.record(all + " -e " + every.full_name() +
                    (above ? " " + filter + " 'c > 3 && n != \"near 9\"'" : ""),
                [&] {
                    enabled = every.word == 1;
                    for (std::int32_t number = 1; number <= 5; number++) {
                        const std::string printed = every.record(number);
                        if (number > above)
                            expected.push_back(printed);
                    }
                });
    CHECK(enabled);
    CHECK(every.word == 0);
    CHECK(file.fields(every.event) == expected);
}

} // namespace selftest
