// SPDX-License-Identifier: GPL-2.0-only
// What a signal handler needs to record an event, also if the file was lost: no memory of malloc(),
// and a bounded part of its stack.
#include "catch.hpp"

#include <user_events/user_events.hpp>

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#else
#define HAS_SANITIZER 0
#endif

namespace ue = user_events;

namespace {

thread_local std::size_t allocations = 0;
/// The descriptor of the last ioctl.
int last_descriptor = -1;

} // namespace

/// Accepts each registration, and enables the event. Not that of fake_file.cpp, which allocates
/// memory and needs much of the stack.
extern "C" int ioctl(int descriptor, unsigned long request, ...) noexcept {
    va_list arguments;
    va_start(arguments, request);
    auto* const argument = va_arg(arguments, user_events_reg*);
    va_end(arguments);
    last_descriptor = descriptor;
    if (request == USER_EVENTS_REG) {
        *reinterpret_cast<std::uint32_t*>(argument->enable_addr) = 1;
        argument->write_index = 0;
    }
    return 0;
}

// Each allocation counts, also one of the C library: fopen() calls malloc().
#if HAS_SANITIZER

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*,
                                                                           std::size_t),
                                                         void (*freed)(const volatile void*));

namespace {

[[gnu::constructor]] void count_allocations() {
    __sanitizer_install_malloc_and_free_hooks(
        [](const volatile void*, std::size_t) { allocations++; }, [](const volatile void*) {});
}

} // namespace

#else

extern "C" {
// NOLINTBEGIN(clang-diagnostic-reserved-identifier): the names that glibc has for its own.
void* __libc_malloc(std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
// NOLINTEND(clang-diagnostic-reserved-identifier)

void* malloc(std::size_t size) noexcept {
    allocations++;
    return __libc_malloc(size);
}
void* realloc(void* memory, std::size_t size) noexcept {
    allocations++;
    return __libc_realloc(memory, size);
}
}

#endif

namespace {

using Number = ue::event<"number", ue::field<"value", std::uint64_t>>;

constexpr const char* usual_file = "/dev/user_events/default";

/// Gives the calling process a user_events_data at its usual place.
bool make_usual_file() {
    return unshare(CLONE_NEWNS | (getuid() == 0 ? 0 : CLONE_NEWUSER)) == 0 &&
           mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("tmpfs", "/dev", "tmpfs", 0, nullptr) == 0 &&
           mkdir("/dev/user_events", 0700) == 0 && mkfifo(usual_file, 0600) == 0 &&
           unsetenv("USER_EVENTS_FILE") == 0 && unsetenv("USER_EVENTS") == 0;
}

/// Returns what a function does in a child process whose user_events_data is at its usual place.
int in_child_with_usual_file(const std::function<int(int reader)>& function) {
    const pid_t child = fork();
    if (child == 0) {
        if (!make_usual_file())
            _exit(100);
        _exit(function(open(usual_file, O_RDONLY | O_NONBLOCK)));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

} // namespace

TEST_CASE("Opening a lost file again allocates no memory") {
    CHECK(in_child_with_usual_file([](int reader) {
              const Number event;
              if (event.error() || !event)
                  return 1;
              close(last_descriptor);
              const std::size_t before = allocations;
              event(1);
              if (allocations != before)
                  return 2;
              char record[100];
              return event.lost() == 0 && read(reader, record, sizeof(record)) == 12 ? 0 : 3;
          }) == 0);
}

#if !HAS_SANITIZER

namespace {

/// Returns how much of its stack a signal handler needs for a function, in bytes.
std::size_t stack_of(void (*function)()) {
    static void (*called)();
    static std::byte* begin;
    called = function;
    std::vector<std::byte> stack(1 << 16, std::byte{0xa5});
    stack_t other{}, before{};
    other.ss_sp = stack.data();
    other.ss_size = stack.size();
    sigaltstack(&other, &before);
    struct sigaction action {};
    action.sa_flags = SA_ONSTACK;
    action.sa_handler = [](int) {
        begin = static_cast<std::byte*>(__builtin_frame_address(0));
        called();
    };
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    sigaltstack(&before, nullptr);
    std::size_t untouched = 0;
    while (stack[untouched] == std::byte{0xa5})
        untouched++;
    return static_cast<std::size_t>(begin - stack.data()) - untouched;
}

using Order =
    ue::event<"order", ue::field<"number", std::uint32_t>, ue::field<"item", std::string_view>>;

const Number* number_event;
const Order* order_event;
const ue::dynamic_event* dynamic;
std::string text;

/// Returns the most stack that recording needs with the file open and with the file lost, in a
/// process that has to look for the file everywhere.
std::size_t most_stack_of(void (*record)()) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    CHECK(in_child_with_usual_file([&](int) {
              static const Number first;
              static const Order second;
              static const auto third = ue::dynamic_event::create(
                  "dynamic", {{"number", ue::field_type::u32}, {"item", ue::field_type::text}});
              number_event = &first;
              order_event = &second;
              dynamic = &*third;
              // The dynamic linker needs stack, too, at the first call of each function.
              record();
              close(last_descriptor);
              record();
              std::size_t most = stack_of(record);
              close(last_descriptor);
              most = std::max(most, stack_of(record));
              if (first.lost() || second.lost() || third->lost())
                  return 1;
              return write(ends[1], &most, sizeof(most)) == sizeof(most) ? 0 : 2;
          }) == 0);
    std::size_t most = 0;
    CHECK(read(ends[0], &most, sizeof(most)) == sizeof(most));
    close(ends[0]);
    close(ends[1]);
    return most;
}

} // namespace

// The numbers of library.rst. The makefile compiles with -O1, which needs more than -O2.
TEST_CASE("Numbers need at most 3 KiB of stack, short text 5 KiB, long text 8 KiB") {
    text.assign(1000, 'x');
    CHECK(most_stack_of([] { (*number_event)(1); }) <= 3072);
    CHECK(most_stack_of([] { (*order_event)(1, text); }) <= 5120);
    text.assign(2000, 'x');
    CHECK(most_stack_of([] { (*order_event)(1, text); }) <= 8192);
}

TEST_CASE("A dynamic event needs at most 8 KiB of stack, 12 KiB with long text") {
    text.assign(1000, 'x');
    CHECK(most_stack_of([] { dynamic->write({1, text}); }) <= 8192);
    text.assign(2000, 'x');
    CHECK(most_stack_of([] { dynamic->write({1, text}); }) <= 12288);
}

#endif
