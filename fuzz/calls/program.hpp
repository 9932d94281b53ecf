// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "coverage.hpp"
#include "input.hpp"
#include "memory.hpp"
#include "user_events.hpp"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <vector>

namespace calls {

/// What was promised and is not so.
struct Broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Does what inputs say, one after the other, looks at the answers and at the bits, and leaves
/// nothing behind.
class Program {
public:
    /// With `talks` it tells of each operation and its answer.
    Program(Coverage& coverage, bool talks);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    /// Throws Broken.
    void run(const Input& input);

private:
    using Operations = std::span<const Operation>;
    /// Nothing where there is nothing to do it with.
    using Answer = std::optional<selftest::Outcome>;

    /// An open file, which several descriptors may stand for.
    struct File {
        bool data;
        /// How many indexes it has given out; not known once a child has it as well.
        unsigned indexes = 0;
        bool shared = false;
    };
    struct Slot {
        int descriptor = -1;
        std::shared_ptr<File> file;
    };
    struct PerfSlot {
        int descriptor = -1;
        void* ring = nullptr;
    };
    struct Child {
        pid_t pid;
        /// What is written here lets it end.
        int release;
    };
    /// Where the argument of an ioctl lies, and who calls.
    struct Passing {
        explicit Passing(const Operation& operation)
            : pointer(operation.arguments[4] / 16 % 4U), as_32(operation.arguments[4] / 64 == 3) {}

        unsigned pointer;
        bool as_32;
    };

    void perform(Operations operations);
    void act(const Operation& operation);
    void judge(const Operation& operation, const selftest::Outcome& outcome) const;

    // files.cpp: user_events_data and _status
    Answer open_file(const Operation& operation);
    Answer close_file(const Operation& operation);
    Answer duplicate(const Operation& operation);
    Answer reg(const Operation& operation);
    Answer unreg(const Operation& operation);
    Answer del(const Operation& operation);
    Answer control(const Operation& operation);
    Answer write(const Operation& operation);
    selftest::Outcome pass(int descriptor, unsigned long request, std::string& argument,
                           const Passing& passing);
    selftest::Outcome write_bytes(int descriptor, const std::string& bytes, std::size_t zeros,
                                  const Operation& operation);
    void close_slot(Slot& slot);

    // tracing.cpp: the files of tracing, and perf
    Answer line(const Operation& operation);
    Answer event_file(const Operation& operation);
    Answer read(const Operation& operation);
    Answer perf(const Operation& operation);
    Answer perf_control(const Operation& operation);
    Answer limit(const Operation& operation);
    Answer read_slot(const Slot& slot, unsigned how);
    std::string event_directory(unsigned name, unsigned which) const;
    void close_perf(PerfSlot& slot);
    bool switch_events(const char* state) const;
    void quieten();
    void clear_triggers() const;
    void remove_events() const;

    // program.cpp
    Answer map(const Operation& operation);
    Answer reap(const Operation& operation);
    void fork_child(const Operation& operation, Operations operations);
    [[noreturn]] void live_as_child(const Operation& operation, Operations operations, int release);
    void end_child(const Child& child);
    void end_children();
    void verify();
    void clean();

    struct Act;
    static const std::array<Act, kinds> acts;

    Coverage& coverage_;
    bool talks_;
    std::string root_;
    selftest::DataFile cleaner_;
    std::string counts_;

    Memory memory_;
    Guarded arguments_{2};
    Guarded commands_{1};
    Guarded payloads_{260};
    std::array<Slot, 4> slots_;
    std::array<PerfSlot, 3> perf_slots_;
    std::vector<Child> children_;
    /// What has to be put back at the end.
    bool has_triggers_ = false;
    bool has_limit_ = false;
    /// In children: how deep, and whether it has given up root.
    unsigned depth_ = 0;
    bool nobody_ = false;
};

} // namespace calls
