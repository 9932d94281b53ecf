// SPDX-License-Identifier: GPL-2.0-or-later
// What most files include, compiled once: program.mk has the compiler read it before each file.
// A file still includes what it uses.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
