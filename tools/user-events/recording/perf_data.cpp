// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/perf_data.hpp"

#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <span>
#include <sys/random.h>
#include <unistd.h>
#include <utility>

namespace tool::recording {

namespace {

constexpr char filter_name[] = "user-events-dlfilter.so";
/// What perf has in place of the time of a record that has none.
constexpr std::uint64_t no_time = ~std::uint64_t{0};
/// A text of more bytes is cut.
constexpr std::size_t longest_text = 0xfff0;

/// The path of the filter: in the tool's own folder, or in the folder for libraries next to that
/// one.
std::string filter_path() {
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    for (const auto& path :
         {folder / filter_name, folder.parent_path() / "lib" / "user-events" / filter_name})
        if (access(path.c_str(), R_OK) == 0)
            return path;
    throw text::failure(fmt::format("there is no {} beside the tool", filter_name),
                        "`make install-tool` installs it");
}

std::string random_mark() {
    std::array<unsigned char, 16> bytes{};
    if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw text::failure("the kernel has no random numbers");
    return fmt::format("{:02x}", fmt::join(bytes, ""));
}

/// Takes what is before the next tab.
std::string_view take_word(std::string_view& from) {
    const auto end = std::min(from.find('\t'), from.size());
    const auto result = from.substr(0, end);
    from.remove_prefix(std::min(end + 1, from.size()));
    return result;
}

template <typename Number>
Number take_number(std::string_view& from) {
    return text::to_number<Number>(take_word(from)).value_or(0);
}

/// Takes bytes in hexadecimal.
std::string take_bytes(std::string_view& from) {
    return text::from_hexadecimal(take_word(from)).value_or("");
}

} // namespace

perf_script::perf_script(const input& from, bool is_raw)
    : path_(from.path()), facts_(read_perf_file(from)), mark_(random_mark()) {
    // perf would take "-" for standard input.
    const std::string file = path_.starts_with('/') ? path_ : "./" + path_;
    std::vector<std::string> words{"perf",    "script",          "-i",         file,
                                   "-F",      "trace:trace",     "--dlfilter", filter_path(),
                                   "--dlarg", "records=" + mark_};
    if (is_raw)
        words.insert(words.end(), {"--dlarg", "raw"});
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        throw text::failure("cannot create a pipe");
    output_ = ends[0];
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    try {
        perf_.emplace(words, nullptr, tracing::child_process::standard_files{null, ends[1]});
    } catch (const text::system_failure& error) {
        throw text::failure(
            fmt::format("cannot run perf, which reads {}: {}", path_, std::strerror(error.error())),
            error.error() == ENOENT ? "install the package linux-perf" : "");
    }
    close(null);
    close(ends[1]);
}

perf_script::~perf_script() {
    close(output_);
}

void perf_script::finish() {
    perf_->wait();
    if (perf_->status() != 0)
        throw text::failure(
            fmt::format("perf cannot read {}", path_),
            facts_.version.empty()
                ? "`perf script -i FILE` says more"
                : fmt::format("perf {} has recorded it: that version or a later one reads it",
                              facts_.version));
}

perf_data::perf_data(const perf_script& script, const selection& selection)
    : script_(script), selection_(selection), cutter_(selection.cut),
      described_(selection.patterns.begin(), selection.patterns.end()) {
    if (selection.cut.has_mark())
        throw text::usage_error("times of a recording of perf do not count from a mark",
                                "they can count from its first record: +2.5");
    if (!selection.filter.empty())
        filter_ = to_filter(selection.filter);
}

void perf_data::read(const std::function<void(const record&)>& take_record,
                     const std::function<void(const gap&)>& /*miss*/) {
    function_ = take_record;
    const int copy = fcntl(script_.descriptor(), F_DUPFD_CLOEXEC, 0);
    const std::unique_ptr<FILE, int (*)(FILE*)> lines(fdopen(copy, "r"), std::fclose);
    if (!lines)
        throw text::failure("cannot read what perf prints");
    char* line = nullptr;
    std::size_t room = 0;
    const std::unique_ptr<char*, void (*)(char**)> release(&line, [](char** at) { free(*at); });
    for (ssize_t size = 0; (size = getline(&line, &room, lines.get())) > 0;)
        take({line, static_cast<std::size_t>(size)});
    finish_record();
    if (script_.facts().is_cut)
        throw damaged_file(
            fmt::format("{} is cut off: not all records can be read", script_.path()));
}

/// A record is a line with the mark; perf's text follows if the payload is not in the line.
void perf_data::take(const std::string& text) {
    std::string_view rest = text;
    if (rest.ends_with('\n'))
        rest.remove_suffix(1);
    if (!rest.starts_with(script_.mark() + "\t")) {
        text_ += text_.empty() ? "" : "\n";
        text_ += rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
        return;
    }
    finish_record();
    has_record_ = true;
    take_word(rest);
    record_.time = take_number<std::uint64_t>(rest);
    const bool has_time = record_.time != no_time;
    has_no_times_ |= !has_time;
    record_.time =
        has_time ? record_.time + static_cast<std::uint64_t>(script_.facts().clock_offset) : 0;
    record_.cpu = take_number<int>(rest);
    record_.tgid = take_number<int>(rest);
    record_.pid = take_number<int>(rest);
    task_ = take_bytes(rest);
    const std::string event = take_bytes(rest);
    take_stack(take_bytes(rest));
    const bool is_described = rest != "-";
    data_ = is_described ? take_bytes(rest) : "";
    text_.clear();
    record_.event = &type_of(event, is_described);
}

/// A line for each function, the innermost one first.
void perf_data::take_stack(std::string_view lines) {
    stack_.clear();
    while (!lines.empty()) {
        const auto end = std::min(lines.find('\n'), lines.size());
        stack_.emplace_back(lines.substr(0, end));
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    record_.stack = stack_.empty() ? nullptr : &stack_;
}

void perf_data::finish_record() {
    if (!std::exchange(has_record_, false))
        return;
    if (!record_.event->is_described) {
        // As the kernel has a dynamic text: its length and its offset.
        text_.resize(std::min(text_.size(), longest_text));
        data_.assign(sizeof(std::uint32_t), '\0');
        write_number(std::as_writable_bytes(std::span(data_)), (text_.size() + 1) << 16 | 4, false);
        data_ += text_ + '\0';
    }
    record_.data = std::as_bytes(std::span(data_));
    record_.task = record_.process_name = task_;
    if (!std::exchange(has_begun_, true))
        cutter_.set_start(record_.time);
    if (selects(record_))
        function_(record_);
}

const event_type& perf_data::type_of(const std::string& name, bool is_described) {
    auto& type = types_[{name, is_described}];
    if (type)
        return *type;
    const auto colon = std::min(name.find(':'), name.size());
    const std::string event = name.substr(std::min(colon + 1, name.size()));
    type = std::make_unique<event_type>(static_cast<int>(types_.size()), name.substr(0, colon),
                                        event.substr(0, event.find(':')));
    type->is_described = is_described;
    type->most_padding = eventheader::perf_padding;
    // What payloads describe begins at the first field.
    type->fields.push_back({.name = is_described ? "eventheader_flags" : "trace",
                            .type = is_described ? "u8" : "__data_loc char[]",
                            .kind = is_described ? kind::natural : kind::text,
                            .place = is_described ? place::field : place::from_record,
                            .is_signed = false,
                            .is_big_endian = false,
                            .offset = 0,
                            .size = is_described ? 1U : 4U,
                            .element_size = 1});
    return *type;
}

bool perf_data::selects(const record& record) {
    const event_type& type = *record.event;
    if (!cutter_.includes(record) || !selection_.choice.includes(type.registered_name()))
        return false;
    if (!matches(selection_.patterns, type) &&
        !(type.is_described &&
          std::any_of(described_.begin(), described_.end(), [&](const auto& each) {
              return each.matches(type.registered_name(), described_name(record));
          })))
        return false;
    // The fields of other events are not known.
    return !filter_ || (type.is_described && passes(*filter_, record));
}

void perf_data::warn_about_gaps(bool) const {
    if (has_no_times_)
        text::warn(
            fmt::format("{} has records without times, which are shown as 0", script_.path()),
            "`perf record -T` records times");
    if (filter_)
        warn_of_unknown_fields(*filter_);
}

} // namespace tool::recording
