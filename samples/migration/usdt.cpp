// SPDX-License-Identifier: MIT
//
// A program with USDT probes: one at the beginning of a request, one at its end, and one whose
// argument is expensive, behind a semaphore.
//
//	usdt [PATH...]
#include <user_events/user_events.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

namespace {

// Probes are not declared. Their arguments have no names, and of their types only the size.
user_events::event<"server_request_start", user_events::field<"number", std::uint32_t>,
                   user_events::field<"path", std::string_view>>
    request_start;
user_events::event<"server_request_done", user_events::field<"number", std::uint32_t>,
                   user_events::field<"status", std::int32_t>>
    request_done;
// unsigned short server_request_headers_semaphore __attribute__((section(".probes")));
user_events::event<"server_request_headers", user_events::field<"headers", std::string_view>>
    request_headers;

std::string headers_of(std::string_view path) {
    return "Host: localhost, Path: " + std::string(path);
}

int serve(std::uint32_t number, const char* path) {
    // DTRACE_PROBE2(server, request_start, number, path);
    request_start(number, path);
    // if (server_request_headers_semaphore)
    //     DTRACE_PROBE1(server, request_headers, headers_of(path).c_str());
    request_headers.lazily([&] { return headers_of(path); });
    const int status = path[0] == '/' ? 200 : 400;
    // DTRACE_PROBE2(server, request_done, number, status);
    request_done(number, status);
    return status;
}

} // namespace

int main(int argc, char* argv[]) {
    std::uint32_t number = 0;
    for (const char* path : std::span(argv, static_cast<std::size_t>(argc)).subspan(1))
        serve(++number, path);
    return 0;
}
