// SPDX-License-Identifier: GPL-2.0-or-later
// Standard output: its colours, and its end.
#pragma once

#include <string>
#include <string_view>

namespace tool::text {

/// Whether standard output is a terminal.
bool is_terminal();

/// Whether standard output is a terminal that can do more than print lines.
bool is_capable_terminal();

/// Whether to use colours: on such a terminal, unless NO_COLOR is set; or as set_colours() says.
bool has_colours();
void set_colours(bool wanted);

/// The number of columns of the terminal, or 0 if the lines need not fit.
int columns();

enum class style { plain, bold, dim, red, green, yellow, blue, bold_red };

/// The text that switches a style on or, for plain, all off. Empty without colours.
std::string_view code(style style);

/// Text with the codes of a style around it.
std::string styled(std::string_view text, style style);

/// Prints text that was escaped, if need be, by the caller. Throws failure if that fails, and
/// reader_left if the pipe has no reader left.
void print(std::string_view text);

/// Writes what print() may have kept. Throws as print() does.
void flush();

/// For a command whose signals are blocked, and make this file readable: once it is, print() and
/// flush() wait no longer than a second for a reader that takes nothing. Then this output and all
/// that follows is given up, and the command ends as otherwise. -1 ends this.
void give_up_when_readable(int file);

/// The reader of standard output has ended, as `head` does. The command ends, without a message
/// and with the status 0.
struct reader_left {};

} // namespace tool::text
