// SPDX-License-Identifier: MIT
// Events of the program that Linux's tracing records. Documentation/library.rst is the reference.
// These are not included: spdlog_sink.hpp, which needs spdlog; eventheader.hpp and testing.hpp,
// which few files of a program need.
#pragma once

// One message, instead of all that follows from it.
#if __cplusplus < 202002L
#error "user_events needs C++20: compile with -std=c++20; user_events.h needs C11 or C++11"
#else
#include "dynamic_event.hpp"
#include "event.hpp"
#include "field.hpp"
#include "log.hpp"
#include "mark.hpp"
#include "registration.hpp"
#include "slice.hpp"
#include "text.hpp"
#include "version.h"
#endif
