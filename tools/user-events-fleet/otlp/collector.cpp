// SPDX-License-Identifier: GPL-2.0-or-later
#include "otlp/collector.hpp"

#include "text/errors.hpp"
#include "text/new_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstring>
#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <libdeflate.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <unistd.h>

namespace tool::otlp {

namespace {

constexpr const char* paths[] = {"/v1/logs", "/v1/traces", "/v1/metrics"};
/// Pauses between attempts, in seconds.
constexpr double first_pause = 0.5;
constexpr double longest_pause = 30;
/// The most that the collector may ask for.
constexpr double most_wait = 300;
/// More of an answer is not read.
constexpr std::size_t most_text = 1 << 20;

/// The fastest level.
constexpr int level = 1;

/// For curl, which takes 0 as no limit, and no more than an int.
long to_milliseconds(double seconds) {
    return static_cast<long>(
        std::clamp(std::ceil(seconds * 1000), 1.0, static_cast<double>(INT_MAX)));
}

std::string compressed(const std::string& body) {
    const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
        libdeflate_alloc_compressor(level), libdeflate_free_compressor);
    if (!compressor)
        throw std::bad_alloc();
    std::string result(libdeflate_gzip_compress_bound(compressor.get(), body.size()), '\0');
    result.resize(libdeflate_gzip_compress(compressor.get(), body.data(), body.size(),
                                           result.data(), result.size()));
    return result;
}

std::size_t take(char* data, std::size_t size, std::size_t count, void* text) {
    auto& to = *static_cast<std::string*>(text);
    // An answer without an end is an error.
    if (to.size() + size * count > most_text)
        return 0;
    to.append(data, size * count);
    return size * count;
}

/// A number of JSON can be larger than any integer, and that of an int64 may be text.
std::int64_t to_count(const nlohmann::json& value) {
    constexpr double most = 1e18;
    if (value.is_string())
        return std::strtoll(value.get<std::string>().c_str(), nullptr, 10);
    return value.is_number() ? static_cast<std::int64_t>(std::clamp(value.get<double>(), 0.0, most))
                             : 0;
}

/// The number has another name for each signal, as in "rejectedSpans".
bool parse_json(const std::string& text, message::ExportResponse& to) {
    if (text.empty())
        return true;
    const auto document = nlohmann::json::parse(text, nullptr, false);
    if (!document.is_object())
        return false;
    const auto partial = document.value("partialSuccess", nlohmann::json::object());
    for (const auto& [name, value] : partial.items())
        if (name.starts_with("rejected"))
            to.mutable_partial_success()->set_rejected(to_count(value));
        else if (name == "errorMessage" && value.is_string())
            to.mutable_partial_success()->set_error_message(value.get<std::string>());
    return true;
}

/// Throws nlohmann::json::exception if the request has no such members.
std::uint64_t spans_in_json(const std::string& body) {
    std::uint64_t count = 0;
    const auto request = nlohmann::json::parse(body);
    for (const auto& resource : request.at("resourceSpans"))
        for (const auto& scope : resource.at("scopeSpans"))
            count += scope.at("spans").size();
    return count;
}

/// How many spans the request has; if it cannot be read, how many these can be at most. A request
/// of the spool may be in another encoding than requests of now.
std::uint64_t spans_in(const request& of) {
    try {
        if (of.body.starts_with('{'))
            return spans_in_json(of.body);
    } catch (const nlohmann::json::exception&) {
        return of.records;
    }
    message::ExportTraceServiceRequest request;
    if (!request.ParseFromString(of.body))
        return of.records;
    std::uint64_t count = 0;
    for (const auto& resource : request.resource_spans())
        for (const auto& scope : resource.scope_spans())
            count += static_cast<std::uint64_t>(scope.spans_size());
    return count;
}

/// Of how many records the log records or spans are made that were rejected. A span is made of one
/// record or of two, and the collector does not say which spans it means: each counts as the mean.
std::uint64_t rejected_records(std::uint64_t rejected, const request& of) {
    const std::uint64_t items = of.signal == signal::traces ? spans_in(of) : of.records;
    return rejected >= items ? of.records : (of.records * rejected + items - 1) / items;
}

/// The URL without a user's name and password, for messages. A password that is not encoded as it
/// should be may contain a slash.
std::string redacted(std::string url) {
    const auto scheme = url.find("://");
    const std::size_t host = scheme == url.npos ? 0 : scheme + 3;
    if (const auto at = url.rfind('@'); at != url.npos && at >= host)
        url.erase(host, at + 1 - host);
    return url;
}

/// A file for TLS: by its name, or what was read of it.
void set_file(CURL* curl, CURLoption name_option, const std::string& name, CURLoption text_option,
              const std::string& text) {
    if (name.empty())
        return;
    // Only read while the request is made.
    curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
    const CURLcode result = text.empty() ? curl_easy_setopt(curl, name_option, name.c_str())
                                         : curl_easy_setopt(curl, text_option, &blob);
    if (result != CURLE_OK)
        throw text::failure(fmt::format("cannot use {}: {}", name, curl_easy_strerror(result)));
}

/// Unlike access(), faccessat() also counts the capabilities of a process that is not root's.
void require_readable(const std::string& path, const char* option) {
    if (!path.empty() && faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0)
        throw text::failure(fmt::format("cannot read {}: {}", path, std::strerror(errno)),
                            fmt::format("{} names a file in PEM that this user can read", option));
}

void require_header(const std::string& text, const std::string& from) {
    const auto colon = text.find(':');
    if (colon == text.npos || colon == 0 || text.find_first_of("\r\n") != text.npos)
        throw text::usage_error(fmt::format("{}: \"{}\" is no header", from,
                                            text.substr(0, colon == text.npos ? 0 : colon)),
                                "write it as NAME: VALUE");
}

} // namespace

std::vector<std::string> read_headers(const std::string& path) {
    std::istringstream file(text::contents_of(path));
    std::vector<std::string> result;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#')
            continue;
        require_header(line, path);
        result.push_back(line);
    }
    return result;
}

void read_files(delivery& how) {
    const auto text_of = [](const std::string& path, const char* option) {
        require_readable(path, option);
        return path.empty() ? std::string() : text::contents_of(path);
    };
    how.ca_text = text_of(how.ca, "--ca");
    how.certificate_text = text_of(how.certificate, "--certificate");
    how.key_text = text_of(how.key, "--key");
}

void collector::closer::operator()(void* handle) const noexcept {
    curl_easy_cleanup(handle);
}

void collector::closer::operator()(curl_slist* list) const noexcept {
    curl_slist_free_all(list);
}

collector::collector(delivery how) : how_(std::move(how)) {
    if (!how_.url.starts_with("http://") && !how_.url.starts_with("https://"))
        throw text::usage_error(fmt::format("\"{}\" is no URL of a collector", redacted(how_.url)),
                                "write it as http://localhost:4318 or https://HOST:PORT");
    while (how_.url.ends_with('/'))
        how_.url.pop_back();
    shown_url_ = redacted(how_.url);
    if (how_.ca_text.empty())
        require_readable(how_.ca, "--ca");
    if (how_.certificate_text.empty())
        require_readable(how_.certificate, "--certificate");
    if (how_.key_text.empty())
        require_readable(how_.key, "--key");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    curl_.reset(curl_easy_init());
    if (!curl_)
        throw std::bad_alloc();
    std::vector<std::string> headers = how_.headers;
    for (const auto& header : headers)
        require_header(header, "--header");
    headers.push_back(how_.encoding == encoding::json ? "Content-Type: application/json"
                                                      : "Content-Type: application/x-protobuf");
    if (how_.compress)
        headers.emplace_back("Content-Encoding: gzip");
    // Without it, curl waits for a second before it sends a large body.
    headers.emplace_back("Expect:");
    for (const auto& header : headers)
        headers_.reset(curl_slist_append(headers_.release(), header.c_str()));
}

namespace {

/// An error of libcurl without the time that it took, as in "port 4318 after 12 ms": the same error
/// is the same text each time.
std::string without_time(std::string error) {
    const std::size_t begin = error.find(" after ");
    const std::size_t unit = begin == error.npos ? begin : error.find(" ms", begin);
    if (unit != error.npos && error.find_first_not_of("0123456789", begin + 7) == unit)
        error.erase(begin, unit + 3 - begin);
    return error;
}

} // namespace

collector::~collector() = default;

collector::answer collector::to_answer(const request& to, int code, const char* error,
                                       const std::string& text) const {
    const auto status = [this] {
        long result = 0;
        curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &result);
        return result;
    }();
    // Half an answer does not say what became of the request.
    if (code != CURLE_OK)
        return {answer::outcome::retry, 0, 0,
                fmt::format("cannot be reached: {}",
                            without_time(
                                *error ? error : curl_easy_strerror(static_cast<CURLcode>(code))))};
    curl_off_t wait = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RETRY_AFTER, &wait);
    if (status == 429 || status == 502 || status == 503 || status == 504)
        return {answer::outcome::retry, 0, std::clamp(static_cast<double>(wait), 0.0, most_wait),
                fmt::format("does not take records now: it answers {}", status)};
    if (status < 200 || status > 299)
        return {answer::outcome::refused, 0, 0, fmt::format("it answers {}", status)};
    message::ExportResponse response;
    if (how_.encoding == encoding::json ? !parse_json(text, response)
                                        : !response.ParseFromString(text))
        return {answer::outcome::taken, 0, 0, "its answer is no message of OTLP"};
    const auto& partial = response.partial_success();
    if (partial.rejected() <= 0)
        return {answer::outcome::taken, 0, 0, {}};
    return {answer::outcome::taken,
            rejected_records(static_cast<std::uint64_t>(partial.rejected()), to), 0,
            fmt::format("it has rejected records: {}", partial.error_message())};
}

collector::answer collector::send(const request& what) {
    CURL* const curl = curl_.get();
    const std::string url = how_.url + paths[static_cast<int>(what.signal)];
    const std::string body = how_.compress ? compressed(what.body) : what.body;
    std::array<char, CURL_ERROR_SIZE> error{};
    std::string text;
    // This keeps the connection.
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, to_milliseconds(how_.timeout));
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error.data());
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &text);
    set_file(curl, CURLOPT_CAINFO, how_.ca, CURLOPT_CAINFO_BLOB, how_.ca_text);
    set_file(curl, CURLOPT_SSLCERT, how_.certificate, CURLOPT_SSLCERT_BLOB, how_.certificate_text);
    set_file(curl, CURLOPT_SSLKEY, how_.key, CURLOPT_SSLKEY_BLOB, how_.key_text);
    const CURLcode code = curl_easy_perform(curl);
    return to_answer(what, code, error.data(), text);
}

namespace {

/// Says what is wrong when that changes.
class teller {
public:
    explicit teller(const std::string& url) : url_(url) {}

    void say(const collector::answer& answer) {
        if (answer.message == last_)
            return;
        last_ = answer.message;
        const std::string message =
            last_.size() > most_shown ? last_.substr(0, most_shown) + "..." : last_;
        if (answer.result == collector::answer::outcome::retry)
            text::warn(fmt::format("the collector at {} {}; trying again", url_, message));
        else if (!message.empty())
            text::warn(fmt::format("the collector at {} {}: {}", url_,
                                   answer.result == collector::answer::outcome::refused
                                       ? "refuses records, which are dropped"
                                       : "has a fault",
                                   message));
        else
            text::warn(fmt::format("the collector at {} takes records again", url_));
    }

private:
    /// A collector may answer with a megabyte.
    static constexpr std::size_t most_shown = 200;

    std::string url_;
    std::string last_;
};

void take(queue& from, const collector::answer& answer) {
    if (answer.result == collector::answer::outcome::refused)
        from.refuse();
    else
        from.finish(answer.rejected);
}

} // namespace

double pauses::next(double part) noexcept {
    longest_ = std::clamp(longest_ * 2, first_pause, longest_pause);
    return longest_ * (1 + part) / 2;
}

void pauses::begin_again() noexcept {
    longest_ = 0;
}

void deliver(queue& from, collector& to) {
    std::minstd_rand random(std::random_device{}());
    std::uniform_real_distribution<> part(0, 1);
    teller teller(to.url());
    pauses pauses;
    while (auto next = from.front()) {
        const auto answer = to.send(*next);
        teller.say(answer);
        if (answer.result == collector::answer::outcome::retry) {
            const double pause = pauses.next(part(random));
            if (!from.pause(answer.wait > 0 ? answer.wait : pause))
                return;
            continue;
        }
        pauses.begin_again();
        take(from, answer);
        if (from.is_stopped())
            return;
    }
}

void deliver_rest(queue& from, collector& to, double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!from.is_empty() && std::chrono::steady_clock::now() < end) {
        const auto next = from.front();
        if (!next)
            return;
        const auto answer = to.send(*next);
        if (answer.result == collector::answer::outcome::retry)
            return;
        take(from, answer);
    }
}

} // namespace tool::otlp
