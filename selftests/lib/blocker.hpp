// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "child.hpp"
#include "descriptor.hpp"
#include "mapping.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace selftest {

/// A process with a registration in memory whose page faults it answers only on request.
class Blocker {
public:
    Blocker(const Event& event, Userfault::Kind kind)
        : child_([=](Channel& channel) { return serve(channel, event, kind); }) {
        child_.channel().receive<char>();
    }

    /// Whether the kernel waits for its page.
    bool blocks() { return child_.channel().ask<bool>(Request::blocks); }
    void answer() { child_.channel().ask<bool>(Request::answer); }
    std::uint32_t word() { return child_.channel().ask<std::uint32_t>(Request::read); }

private:
    enum class Request : char { blocks, answer, read };

    static int serve(Channel& channel, const Event& event, Userfault::Kind kind) {
        Mapping memory(1);
        DataFile file;
        file.must_register(memory.at(), 0, event.name());
        Userfault fault(memory, kind);
        channel.send('r');
        // Runs until killed.
        for (Request request; read(channel.descriptor(), &request, 1) == 1;)
            switch (request) {
            case Request::blocks:
                channel.send(fault.has_waiter());
                break;
            case Request::answer:
                fault.answer();
                channel.send(true);
                break;
            case Request::read:
                channel.send(memory.at<Word>()->load());
                break;
            }
        return 1;
    }

    Child child_;
};

/// A registered word in a page that can be discarded.
class DiscardableWord {
public:
    explicit DiscardableWord(const Event& event, DataFile file = DataFile())
        : file_(std::move(file)) {
        file_.must_register(memory_.at(), 0, event.name());
    }

    void discard_page() {
        if (madvise(memory_.at(), page_size, MADV_DONTNEED) != 0)
            throw_errno("MADV_DONTNEED");
    }
    std::uint32_t word() const { return *memory_.at<Word>(); }

private:
    Mapping memory_{1};
    DataFile file_;
};

} // namespace selftest
