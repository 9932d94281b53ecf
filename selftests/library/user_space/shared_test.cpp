// SPDX-License-Identifier: GPL-2.0-only
// An inline event that a program and a shared library declare.
#include "catch.hpp"
#include "fake_file.hpp"
#define WITH_TEMPLATE
#include "plugin/shared_event.hpp"

#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <user_events/user_events.hpp>

using namespace selftest;

// Of plugin.cpp, as it is in this program with another layout.
extern "C" void record_in_part(std::uint32_t value);
extern "C" bool is_enabled_in_part();
extern "C" std::size_t size_in_part();
extern "C" bool record_template_in_part(std::uint32_t value);
// Of string_part.cpp.
extern "C" void record_string_in_part(const char* text);

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
        size = reinterpret_cast<std::size_t (*)()>(dlsym(handle_, "size_in_plugin"));
        number = reinterpret_cast<std::uint64_t (*)()>(dlsym(handle_, "number_in_plugin"));
        error = reinterpret_cast<void (*)(std::error_code&)>(dlsym(handle_, "error_in_plugin"));
        // Only one has it.
        record_template =
            reinterpret_cast<bool (*)(std::uint32_t)>(dlsym(handle_, "record_template_in_plugin"));
    }
    Plugin(const Plugin&) = delete;
    Plugin& operator=(const Plugin&) = delete;
    ~Plugin() { dlclose(handle_); }

    void (*record)(std::uint32_t value);
    bool (*is_enabled)();
    std::size_t (*size)();
    std::uint64_t (*number)();
    void (*error)(std::error_code& error);
    bool (*record_template)(std::uint32_t value);

    /// Whether the library stays when no object has it any more.
    static bool is_loaded(const char* name) {
        const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
        void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
        if (handle)
            dlclose(handle);
        return handle != nullptr;
    }

private:
    std::filesystem::path path_;
    void* handle_;
};

/// The program has the event with both layouts.
constexpr std::size_t of_program = 2;

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
        CHECK(is_enabled_in_part());
        shared_event(1);
        CHECK(file.take() == record_of(1));
        record_in_part(4);
        CHECK(file.take() == record_of(4));
        plugin.record(2);
        CHECK(file.take() == record_of(2));
    }
}

void check_without_plugin() {
    FakeFile& file = *created;
    CHECK(registrations(command) == of_program);
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
        CHECK(registrations(command) == of_program);
        {
            const Plugin plugin("plugin_hidden.so");
            CHECK(registrations(command) == of_program + 1);
            check(plugin);
        }
        check_without_plugin();
    }
}

TEST_CASE("A plug-in with hidden symbols is unloaded, wherever its inline events are declared") {
    FakeFile& file = *created;
    std::error_code error;
    {
        const Plugin plugin("plugin_hidden.so");
        CHECK(registrations("in_class u32 value") == 1);
        file.fail_with(EADDRINUSE);
        plugin.error(error);
        file.fail_with(0);
        CHECK(user_events::explain(error).find("other fields") != std::string::npos);
        CHECK(Plugin::is_loaded("plugin_hidden.so"));
    }
    CHECK(!Plugin::is_loaded("plugin_hidden.so"));
    CHECK(registrations("in_class u32 value") == 0);
    CHECK(registrations("in_function u32 value") == 0);
    // What the plug-in has told stays.
    CHECK(error == std::errc::address_in_use);
    CHECK(!error.message().empty());
    CHECK(user_events::explain(error).find("other fields") != std::string::npos);
}

TEST_CASE("Flows of a program and of each load of its plug-in have different numbers") {
    std::set<std::uint64_t> numbers;
    for (int i = 0; i < 10; i++) {
        numbers.insert(user_events::flow::next().id);
        numbers.insert(Plugin("plugin_hidden.so").number());
    }
    CHECK(numbers.size() == 20);
}

TEST_CASE("A program and a plug-in that have one variable have one registration") {
    for (int i = 0; i < 3; i++) {
        CHECK(registrations(command) == of_program);
        {
            const Plugin plugin("plugin_default.so");
            CHECK(registrations(command) == of_program);
            check(plugin);
        }
        check_without_plugin();
    }
}

TEST_CASE("Parts of a process with different layouts of the library have a registration each") {
    CHECK(size_in_part() != sizeof(shared_event));
    for (int i = 0; i < 3; i++) {
        CHECK(registrations(command) == of_program);
        {
            const Plugin plugin("other_plugin.so");
            CHECK(plugin.size() == size_in_part());
            check(plugin);
        }
        check_without_plugin();
    }
}

TEST_CASE("Parts of a program with different classes std::string record their texts") {
    FakeFile& file = *created;
    const user_events::event<"new_string", user_events::field<"item", std::string>> event;
    file.enable("new_string __rel_loc char[] item");
    file.enable("old_string __rel_loc char[] item");
    const auto take_text = [&] {
        const Bytes record = file.take();
        // An index, a location, and the text with its NUL.
        return record.size() < 9 ? std::string()
                                 : std::string(reinterpret_cast<const char*>(record.data()) + 8,
                                               record.size() - 9);
    };
    for (const std::size_t size : {1UL, 15UL, 100UL}) {
        const std::string text(size, 'x');
        event(text);
        CHECK(take_text() == text);
        record_string_in_part(text.c_str());
        CHECK(take_text() == text);
    }
    file.disable("old_string __rel_loc char[] item");
}

// Another size needs another number in USER_EVENTS_LAYOUT.
TEST_CASE("The objects of layout 5 have their sizes, and events begin with a word and the layout") {
    namespace ue = user_events;
    CHECK(std::string_view(USER_EVENTS_TAG(USER_EVENTS_LAYOUT)) == "user_events_layout_5");
    CHECK(sizeof(ue::event<"a">) == 72);
    CHECK(sizeof(ue::dynamic_event) == 8);
    CHECK(sizeof(ue::track<"a">) == 72);
    CHECK(sizeof(ue::counter<"a">) == 72);
    CHECK(sizeof(ue::log<"a">) == 72);
    CHECK(sizeof(ue::marker) == 48);
    std::uint32_t head[2];
    std::memcpy(head, static_cast<const void*>(&shared_event), sizeof(head));
    CHECK(head[1] == ue::detail::layout_tag);
}

TEST_CASE("A part of a process that has another layout does not use an event of the program's") {
    FakeFile& file = *created;
    // g++ makes it unique in the process, so it is never unloaded.
    const Plugin plugin("template_plugin.so");
    file.take();
    file.enable("shared_template u32 value");
    CHECK(!shared_template<std::uint32_t>.error());
    shared_template<std::uint32_t>(1);
    CHECK(file.take().size() == 8);
    const auto check_other = [&](bool (*record)(std::uint32_t)) {
        // clang's names tell the layout, so there are two events.
        const bool is_own = record(2);
        CHECK(file.take().size() == (is_own ? 16 : 0));
    };
    check_other(record_template_in_part);
    check_other(plugin.record_template);
    CHECK(shared_template<std::uint32_t>.lost() == 0);
    file.disable("shared_template u32 value");
}
