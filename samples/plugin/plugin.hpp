// SPDX-License-Identifier: MIT
#pragma once

/// What the host calls in the plug-in.
extern "C" void greet(const char* name);
