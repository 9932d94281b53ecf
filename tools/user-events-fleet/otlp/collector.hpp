// SPDX-License-Identifier: GPL-2.0-or-later
// Sends requests to a collector over HTTP.
#pragma once

#include "otlp/encoder.hpp"
#include "otlp/queue.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct curl_slist;

namespace tool::otlp {

struct delivery {
    /// The collector, without the path of a signal: http://localhost:4318.
    std::string url;
    otlp::encoding encoding = otlp::encoding::protobuf;
    bool compress = true;
    /// "NAME: VALUE"
    std::vector<std::string> headers;
    std::string ca;
    std::string certificate;
    std::string key;
    /// What these files have, if read_files() was called.
    std::string ca_text, certificate_text, key_text;
    double timeout = 10;
};

/// Reads headers from a file, one a line; lines with a # are comments. Throws text::failure.
std::vector<std::string> read_headers(const std::string& path);

/// Reads the files for TLS, for a process that can no longer open them. Otherwise, they are read
/// for each connection, so that new certificates take effect. Throws text::failure.
void read_files(delivery& how);

class collector {
public:
    /// Throws text::usage_error if the URL is none, and text::failure if a file for TLS cannot be
    /// read.
    explicit collector(delivery how);
    ~collector();

    struct answer {
        enum class outcome { taken, retry, refused };
        outcome result;
        /// How many of the request's records the collector rejected although it took the request.
        std::uint64_t rejected = 0;
        /// Seconds that the collector asks to wait; 0 if it does not.
        double wait = 0;
        /// What is wrong; may be set although the request was taken.
        std::string message;
    };
    /// Sends a request and waits for the answer.
    answer send(const request& what);
    /// For messages.
    const std::string& url() const noexcept { return shown_url_; }

private:
    struct closer {
        void operator()(void* handle) const noexcept;
        void operator()(curl_slist* list) const noexcept;
    };
    answer to_answer(const request& to, int code, const char* error, const std::string& text) const;

    delivery how_;
    std::string shown_url_;
    std::unique_ptr<void, closer> curl_;
    std::unique_ptr<curl_slist, closer> headers_;
};

/// How long to wait between attempts: half a second at first, twice as long each time, 30 s at
/// most.
class pauses {
public:
    /// Seconds, of which `part`, from 0 to 1, is chosen at random: not all machines at the same
    /// moment.
    double next(double part) noexcept;
    void begin_again() noexcept;

private:
    double longest_ = 0;
};

/// Sends what is in the queue, until it is stopped: again and again, with growing pauses, while the
/// collector cannot take it. What it refuses is counted as dropped. Says once what is wrong.
void deliver(queue& from, collector& to);

/// The same, after a stop: as long as the collector takes everything, but not longer than this.
void deliver_rest(queue& from, collector& to, double seconds);

} // namespace tool::otlp
