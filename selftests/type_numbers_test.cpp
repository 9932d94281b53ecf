// SPDX-License-Identifier: GPL-2.0-only
// Tracing has about 65,000 type numbers, for events of all kinds. When they are used up, no event
// can be created.
#include "catch.hpp"
#include "descriptor.hpp"
#include "setting.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <utility>

using namespace selftest;

namespace {

/// Events that lines of dynamic_events create: NAME_0, NAME_1, ... The destructor deletes them, the
/// last one first: the kernel takes longer to remove an event the more were created after it.
class Lines {
public:
    explicit Lines(std::string name) : name_(std::move(name)) {}
    Lines(const Lines&) = delete;
    Lines& operator=(const Lines&) = delete;
    ~Lines() {
        DataFile deleting;
        while (count_ > 0)
            deleting.delete_event(event(--count_));
    }

    std::string event(unsigned number) const { return name_ + "_" + std::to_string(number); }
    unsigned count() const { return count_; }

    /// Creates the next event.
    Outcome add() {
        const std::string line = "u:" + event(count_);
        const Outcome outcome = Outcome::of(write(file_.number(), line.data(), line.size()));
        count_ += outcome.ok();
        return outcome;
    }

private:
    const std::string name_;
    const Descriptor file_ = Descriptor::open(tracing_file("dynamic_events"), O_WRONLY | O_APPEND);
    unsigned count_ = 0;
};

} // namespace

TEST_CASE("While the kernel has no type number left, creating an event fails with ENODEV",
          "[long][many]") {
    const std::string name = unique_name("numbers");
    Setting limit("/proc/sys/kernel/user_events_max");
    limit.set("70000");
    Lines lines(name);
    Word word{0};
    DataFile file;
    Outcome outcome = succeeds();
    while (outcome.ok())
        outcome = lines.add();
    CHECK(outcome == fails(ENODEV));
    // Removed events of other tests may have up to 4096.
    CHECK(lines.count() > 57000);
    CHECK(lines.count() < 65535);
    CHECK(file.register_event(&word, 0, name) == fails(ENODEV));
    CHECK(file.unregister(&word, 0) == fails(ENOENT));
    CHECK(status_line(name).empty());
    CHECK(write_text(tracing_file("kprobe_events"), "p:selftests/" + name + " vfs_read",
                     O_APPEND) == fails(ENODEV));

    CHECK(file.register_event(&word, 0, lines.event(0)) == succeeds());
    CHECK(file.delete_event(lines.event(lines.count() - 1)) == succeeds());
    CHECK(file.register_event(&word, 1, name) == succeeds());
    CHECK(file.unregister(&word, 0) == succeeds());
    CHECK(file.unregister(&word, 1) == succeeds());
}
