// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "input.hpp"
#include "random.hpp"

namespace calls {

using selftest::Random;

/// Returns a random operation.
Operation any_operation(Random& random);

/// Makes a few random changes to an input: inserts, deletes or swaps operations, inserts a part of
/// `other`, changes an argument or a text. The result has at least one operation.
void mutate(Input& input, const Input& other, Random& random);

} // namespace calls
