// SPDX-License-Identifier: GPL-2.0-or-later
// Standard output: its colours, and its end.
#pragma once

#include <string_view>

namespace tool::text {

/// Whether standard output is a terminal.
bool is_terminal();

/// Whether to use colours: on a terminal, unless NO_COLOR is set or TERM is dumb.
bool has_colours();

/// The number of columns of the terminal, or 0 if the lines need not fit.
int columns();

enum class style { plain, bold, dim, red, green, yellow, blue, cyan };

/// The text that switches a style on or, for plain, all off. Empty without colours.
std::string_view code(style style);

/// Prints text that was escaped, if need be, by the caller. Throws failure if that fails, and
/// reader_left if the pipe has no reader left.
void print(std::string_view text);

/// Writes what print() may have kept. Throws as print() does.
void flush();

/// The reader of standard output has ended, as `head` does. The command ends, without a message
/// and with the status 0.
struct reader_left {};

} // namespace tool::text
