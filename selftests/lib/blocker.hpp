// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "child.hpp"
#include "descriptor.hpp"
#include "mapping.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <memory>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace selftest {

/// A process with a registration in memory whose page faults it answers only on request. Until
/// then, each write of its bit waits.
class Blocker {
public:
    explicit Blocker(const Event& event, Userfault::Kind kind = Userfault::Kind::missing,
                     uid_t user = 0)
        : child_([=](Channel& channel) { return serve(channel, event, kind, user); }) {
        child_.channel().receive<char>();
    }

    /// Whether the kernel waits for its page.
    bool blocks() { return child_.channel().ask<bool>(Request::blocks); }
    void answer() { child_.channel().ask<bool>(Request::answer); }
    /// After answer(): discards the page, so that the next write of the bit waits again.
    void block_again() { child_.channel().ask<bool>(Request::block_again); }
    std::uint32_t word() { return child_.channel().ask<std::uint32_t>(Request::read); }
    /// Maps other memory over the page, so that UNREG does not wait, unregisters and closes the
    /// file. Returns whether that succeeded.
    bool remap_and_unregister() { return child_.channel().ask<bool>(Request::unregister); }
    void kill() { child_.kill(); }
    /// Returns the userfaultfd of the program.
    Descriptor userfault() {
        child_.channel().send(Request::pass);
        return child_.channel().receive_descriptor();
    }

private:
    enum class Request : char { blocks, answer, block_again, read, pass, unregister };

    static int serve(Channel& channel, const Event& event, Userfault::Kind kind, uid_t user) {
        Mapping memory(1);
        DataFile file;
        if (user != 0)
            become_user(user);
        file.must_register(memory.at(), 0, event.name());
        auto fault = std::make_unique<Userfault>(memory, kind);
        channel.send('r');
        // Runs until killed. Not with receive(): with hundreds of programs, a request may come
        // after its deadline.
        for (Request request; read(channel.descriptor(), &request, 1) == 1;)
            switch (request) {
            case Request::blocks:
                channel.send(fault->has_waiter());
                break;
            case Request::answer:
                fault->answer();
                channel.send(true);
                break;
            case Request::block_again:
                fault.reset();
                fault = std::make_unique<Userfault>(memory, kind);
                channel.send(true);
                break;
            case Request::read:
                channel.send(memory.at<Word>()->load());
                break;
            case Request::pass:
                channel.send_descriptor(fault->descriptor());
                break;
            case Request::unregister:
                channel.send(mmap(memory.at(), page_size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory.at() &&
                             file.unregister(memory.at(), 0).ok());
                file.close();
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
