// SPDX-License-Identifier: GPL-2.0-or-later
// What payloads describe, as values of OTLP.
#pragma once

#include "eventheader/show.hpp"
#include "otlp/attributes.hpp"

namespace tool::otlp {

/// Adds the fields of a record whose payload describes itself. Fields of structs have dotted names,
/// an array is one attribute, and a struct in an array is a list of keys and values. No key is
/// there twice: the second `a` is `a_2`. If not all could be decoded, `user_events.error` has the
/// reason and `user_events.undecoded` the bytes.
void add_described(attributes& to, const eventheader::shown_event& from);

/// Adds what the header says: the provider, the keyword and so on, with the prefix "user_events.".
/// What is zero or empty is left out.
void add_header(attributes& to, const eventheader::shown_event& shown);

} // namespace tool::otlp
