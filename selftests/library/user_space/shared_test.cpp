// SPDX-License-Identifier: GPL-2.0-only
// An inline event that a program and a shared library declare.
#include "catch.hpp"
#include "fake_file.hpp"
#include "plugin/shared_event.hpp"

#include <dlfcn.h>
#include <filesystem>
#include <string>

using namespace selftest;

namespace {

FakeFile* created = nullptr;

/// Before the constructor of the event.
[[gnu::constructor(101)]] void create_file() {
    created = new FakeFile;
}

class Plugin {
public:
    explicit Plugin(const char* name)
        : path_(std::filesystem::read_symlink("/proc/self/exe").parent_path() / name),
          handle_(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        INFO(dlerror());
        REQUIRE(handle_);
        record = reinterpret_cast<void (*)(std::uint32_t)>(dlsym(handle_, "record_in_plugin"));
        is_enabled = reinterpret_cast<bool (*)()>(dlsym(handle_, "is_enabled_in_plugin"));
    }
    Plugin(const Plugin&) = delete;
    Plugin& operator=(const Plugin&) = delete;
    ~Plugin() { dlclose(handle_); }

    void (*record)(std::uint32_t value);
    bool (*is_enabled)();

private:
    std::filesystem::path path_;
    void* handle_;
};

constexpr const char* command = "shared u32 value";

Bytes record_of(std::uint32_t value) {
    return Payload().add<std::uint32_t>(0).add(value).bytes();
}

/// Checks that both can record, also after the event was disabled and enabled.
void check(const Plugin& plugin) {
    FakeFile& file = *created;
    for (int i = 0; i < 2; i++) {
        file.disable(command);
        CHECK(!shared_event);
        CHECK(!plugin.is_enabled());
        file.enable(command);
        CHECK(shared_event);
        CHECK(plugin.is_enabled());
        shared_event(1);
        CHECK(file.take() == record_of(1));
        plugin.record(2);
        CHECK(file.take() == record_of(2));
    }
}

void check_without_plugin() {
    FakeFile& file = *created;
    CHECK(registrations() == 1);
    CHECK(!shared_event.error());
    CHECK(shared_event);
    shared_event(3);
    CHECK(file.take() == record_of(3));
    file.disable(command);
    CHECK(!shared_event);
}

} // namespace

TEST_CASE("A program and a plug-in with hidden symbols have a registration each") {
    for (int i = 0; i < 3; i++) {
        CHECK(registrations() == 1);
        {
            const Plugin plugin("plugin_hidden.so");
            CHECK(registrations() == 2);
            CHECK(commands() == std::vector<std::string>{command});
            check(plugin);
        }
        check_without_plugin();
    }
}

TEST_CASE("A program and a plug-in that have one variable have one registration") {
    for (int i = 0; i < 3; i++) {
        CHECK(registrations() == 1);
        {
            const Plugin plugin("plugin_default.so");
            CHECK(registrations() == 1);
            check(plugin);
        }
        check_without_plugin();
    }
}
