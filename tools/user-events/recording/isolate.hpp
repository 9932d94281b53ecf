// SPDX-License-Identifier: GPL-2.0-or-later
// A recording is read in a child process, in a sandbox.
#pragma once

#include "recording/sandbox.hpp"
#include "tracing/signals.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace tool::recording {

/// The status of a child process that has written its whole output, and fails nevertheless. Only
/// isolate() sees it.
constexpr int complete_but_failed = 3;

/// What is done with a recording in two processes.
struct isolated_work {
    /// What read() needs besides the files that are open.
    allowances needs;
    /// Opens what read() needs, in the child process before it enters the sandbox. Optional.
    std::function<void()> prepare = {};
    /// Reads the recording and writes the output, in a child process in the sandbox.
    std::function<void()> read = {};
    /// Makes the output complete, in this process, after read() has written all of it. Optional. If
    /// standard output has lost its reader, it is not called: what read() reads from may go on.
    std::function<void()> finish = {};
};

/// Does the work, and passes on signals to the child process. The caller holds the signals before
/// it makes outputs, so that none stays behind. In this process, isolate() returns after success,
/// and throws what ends the command otherwise. In the child, it throws what read() throws, or ends
/// the process. The caller's objects exist in both processes. `name` is what the recording is
/// called in messages, `size` how many bytes its files have on the disk: with holes, a small file
/// could ask for any memory.
///
/// If the child crashes, which damaged files cause in libtraceevent, or needs more memory than such
/// a recording can take, the message says so.
void isolate(tracing::held_signals& held, const std::string& name, std::uint64_t size,
             isolated_work work);

} // namespace tool::recording
