// SPDX-License-Identifier: MIT
// A sink for spdlog: the messages of a logger as an event.
#pragma once

#include "event.hpp"

#include <cstdint>
#include <spdlog/common.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/sinks/sink.h>
#include <string_view>

namespace USER_EVENTS_NAMESPACE {

/// A sink for a logger of spdlog. Tools see an event of the name `Name`, with the fields level
/// (spdlog's number: 0 is trace, 5 critical), line, logger, text, function and file. The message is
/// recorded without spdlog's pattern: tracing has the time, the thread and the processor of each
/// record. spdlog formats a message also while the event is not recorded.
///
///     logger->sinks().push_back(std::make_shared<user_events::spdlog_sink<"my_program">>());
///
/// \tparam Name the name of the event
template <literal Name>
class spdlog_sink final : public spdlog::sinks::sink {
public:
    void log(const spdlog::details::log_msg& message) override {
        event_(static_cast<std::uint8_t>(message.level),
               static_cast<std::uint32_t>(message.source.line),
               std::string_view(message.logger_name.data(), message.logger_name.size()),
               std::string_view(message.payload.data(), message.payload.size()),
               message.source.funcname, message.source.filename);
    }
    void flush() override {}
    void set_pattern(const std::string&) override {}
    void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

    explicit operator bool() const noexcept { return bool(event_); }
    std::error_code error() const noexcept { return event_.error(); }

private:
    // The tool knows logs by these fields: recording/severity.cpp, export/page/severity.js.
    event<Name, field<"level", std::uint8_t>, field<"line", std::uint32_t>,
          field<"logger", std::string_view>, field<"text", std::string_view>,
          field<"function", std::string_view>, field<"file", std::string_view>>
        event_;
};

} // namespace USER_EVENTS_NAMESPACE
