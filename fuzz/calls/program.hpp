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

/// Thrown when the kernel violates the ABI or an invariant.
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What a Program prints about each operation.
enum class Log {
    nothing,
    results,
    /// Results, and the changes of memory and of user_events_status, after the kernel's
    /// asynchronous work.
    state
};

/// Runs inputs, one after the other. Checks the results of operations and the enable bits, and
/// restores the initial state after each input.
class Program {
public:
    Program(Coverage& coverage, Log log);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    /// Throws Violation.
    void run(const Input& input);

private:
    using Operations = std::span<const Operation>;
    /// The result of an operation, or nothing if the object that it works on does not exist.
    using Result = std::optional<selftest::Outcome>;

    /// The write indexes of an open file, or of several that share them.
    struct Table {
        /// The number of write indexes in use; unknown if a file is shared with a child.
        unsigned indexes = 0;
        bool shared = false;
    };
    /// An open file, to which several descriptors may refer.
    struct File {
        bool data;
        std::shared_ptr<Table> table = std::make_shared<Table>();
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
        /// A pipe. The child exits after reading a byte from it.
        int release;
    };
    /// How an ioctl's argument is passed: where it is in memory, and whether by a 32-bit program.
    struct Passing {
        explicit Passing(const Operation& operation)
            : pointer(operation.arguments[4] / 16 % 4U), as_32(operation.arguments[4] / 64 == 3) {}

        unsigned pointer;
        bool as_32;
    };

    void perform(Operations operations);
    void execute(const Operation& operation);
    void log(const Operation& operation, const Result& result);
    std::string state_changes(const Operation& operation);
    void check(const Operation& operation, const selftest::Outcome& outcome) const;

    // files.cpp: user_events_data and _status, and the devices
    Result open_file(const Operation& operation);
    Result close_file(const Operation& operation);
    Result duplicate(const Operation& operation);
    Result reg(const Operation& operation);
    Result unreg(const Operation& operation);
    Result del(const Operation& operation);
    Result control(const Operation& operation);
    Result share(const Operation& operation);
    Result write(const Operation& operation);
    Result mark(const Operation& operation);
    selftest::Outcome pass(int descriptor, unsigned long request, std::string& argument,
                           const Passing& passing);
    selftest::Outcome write_bytes(int descriptor, const std::string& bytes, std::size_t zeros,
                                  const Operation& operation);
    void close_slot(Slot& slot);

    // tracing.cpp: tracefs and perf
    Result line(const Operation& operation);
    Result event_file(const Operation& operation);
    Result read(const Operation& operation);
    Result perf(const Operation& operation);
    Result perf_control(const Operation& operation);
    Result limit(const Operation& operation);
    Result rule(const Operation& operation);
    Result read_slot(const Slot& slot, unsigned how);
    std::string event_directory(unsigned name, unsigned which) const;
    void close_perf(PerfSlot& slot);
    bool switch_events(const char* state) const;
    void disable_all();
    void clear_triggers() const;
    void remove_events() const;

    // program.cpp
    Result map(const Operation& operation);
    Result reap(const Operation& operation);
    void fork_child(const Operation& operation, Operations operations);
    [[noreturn]] void run_as_child(const Operation& operation, Operations operations, int release);
    void end_child(const Child& child);
    void end_children();
    void verify();
    void clean();

    struct Handler;
    static const std::array<Handler, kinds> handlers;

    Coverage& coverage_;
    Log log_;
    std::string root_;
    selftest::DataFile cleaner_;
    std::string counts_;

    Memory memory_;
    /// The state at the last line of the log.
    Memory::Contents logged_memory_;
    std::string logged_status_;
    Guarded arguments_{2};
    Guarded commands_{1};
    Guarded payloads_{260};
    std::array<Slot, 4> slots_;
    std::array<PerfSlot, 3> perf_slots_;
    std::vector<Child> children_;
    /// Whether the input may have set triggers, rules or the limit of events, to be reset at its
    /// end.
    bool has_triggers_ = false;
    bool has_rules_ = false;
    bool has_limit_ = false;
    /// In children: the number of ancestors, and whether the child has dropped root.
    unsigned depth_ = 0;
    bool unprivileged_ = false;
};

} // namespace calls
