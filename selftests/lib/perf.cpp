// SPDX-License-Identifier: GPL-2.0-only
#include "perf.hpp"

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace selftest {

namespace {

/// The size of a record's common fields.
constexpr std::size_t common_size = 8;

/// Takes consecutive values out of a sample or record.
class Reader {
public:
    explicit Reader(const Bytes& bytes) : bytes_(bytes) {}

    template <typename T>
    T take() {
        T value;
        const Bytes raw = take_bytes(sizeof(value));
        std::memcpy(&value, raw.data(), sizeof(value));
        return value;
    }

    Bytes take_bytes(std::size_t size) {
        if (size > bytes_.size() - at_)
            throw std::runtime_error("perf: a sample is too short");
        const auto start = bytes_.begin() + static_cast<std::ptrdiff_t>(at_);
        at_ += size;
        return Bytes(start, start + static_cast<std::ptrdiff_t>(size));
    }

private:
    const Bytes& bytes_;
    std::size_t at_ = 0;
};

/// Takes the parts in the order in which perf writes them.
PerfSample parse_sample(const Bytes& bytes, std::uint64_t sample_type) {
    Reader reader(bytes);
    PerfSample sample;
    if (sample_type & PERF_SAMPLE_TID) {
        sample.pid = reader.take<std::uint32_t>();
        sample.tid = reader.take<std::uint32_t>();
    }
    if (sample_type & PERF_SAMPLE_CALLCHAIN) {
        const auto length = reader.take<std::uint64_t>();
        for (std::uint64_t i = 0; i < length; i++)
            sample.callchain.push_back(reader.take<std::uint64_t>());
    }
    const Bytes raw = reader.take_bytes(reader.take<std::uint32_t>());
    Reader record(raw);
    sample.type = record.take<std::uint16_t>();
    record.take_bytes(common_size - sizeof(std::uint16_t));
    sample.payload = record.take_bytes(raw.size() - common_size);
    return sample;
}

std::uint64_t lost_in(const Bytes& bytes) {
    Reader reader(bytes);
    reader.take<std::uint64_t>(); // the id
    return reader.take<std::uint64_t>();
}

} // namespace

perf_event_attr perf_attributes(const Event& event) {
    perf_event_attr attributes{};
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_TRACEPOINT;
    attributes.config = static_cast<std::uint64_t>(event.id());
    attributes.sample_period = 1;
    return attributes;
}

perf_event_attr perf_sampling(const Event& event, std::uint64_t more) {
    perf_event_attr attributes = perf_attributes(event);
    attributes.sample_type = PERF_SAMPLE_RAW | more;
    return attributes;
}

Descriptor open_perf(perf_event_attr attributes, pid_t task, int cpu) {
    const long result =
        syscall(SYS_perf_event_open, &attributes, task, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return Descriptor(static_cast<int>(expect(Outcome::of(result), "perf_event_open")));
}

PerfEvent::PerfEvent(perf_event_attr attributes, pid_t task, int cpu)
    : file_(open_perf(attributes, task, cpu)), sample_type_(attributes.sample_type) {
    if (sample_type_ != 0)
        ring_.emplace(1 + data_pages, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number());
}

std::uint64_t PerfEvent::count() const {
    std::uint64_t count = 0;
    if (read(file_.number(), &count, sizeof(count)) != sizeof(count))
        throw_errno("read a perf event");
    return count;
}

Outcome PerfEvent::set_filter(const std::string& filter) {
    return Outcome::of(ioctl(file_.number(), PERF_EVENT_IOC_SET_FILTER, filter.c_str()));
}

Outcome PerfEvent::attach_program(int program) {
    return Outcome::of(ioctl(file_.number(), PERF_EVENT_IOC_SET_BPF, program));
}

Outcome PerfEvent::enable() {
    return Outcome::of(ioctl(file_.number(), PERF_EVENT_IOC_ENABLE, 0));
}

Outcome PerfEvent::disable() {
    return Outcome::of(ioctl(file_.number(), PERF_EVENT_IOC_DISABLE, 0));
}

std::vector<PerfSample> PerfEvent::samples(std::uint64_t* lost) {
    auto* control = ring_.value().at<perf_event_mmap_page>();
    const std::size_t size = data_pages * page_size;
    const std::byte* data = ring_->at(page_size);
    const auto copy = [&](std::uint64_t from, std::size_t length) {
        Bytes bytes(length);
        for (std::size_t i = 0; i < length; i++)
            bytes[i] = data[(from + i) % size];
        return bytes;
    };
    const std::uint64_t head = std::atomic_ref(control->data_head).load(std::memory_order_acquire);
    std::uint64_t tail = control->data_tail;
    std::vector<PerfSample> samples;
    while (tail < head) {
        perf_event_header header;
        const Bytes start = copy(tail, sizeof(header));
        std::memcpy(&header, start.data(), sizeof(header));
        if (header.type == PERF_RECORD_LOST && !lost)
            throw std::runtime_error("perf lost samples");
        if (header.type == PERF_RECORD_LOST)
            *lost += lost_in(copy(tail + sizeof(header), header.size - sizeof(header)));
        if (header.type == PERF_RECORD_SAMPLE)
            samples.push_back(parse_sample(
                copy(tail + sizeof(header), header.size - sizeof(header)), sample_type_));
        tail += header.size;
    }
    std::atomic_ref(control->data_tail).store(tail, std::memory_order_release);
    return samples;
}

void PerfEvent::close() {
    ring_.reset();
    file_.close();
}

} // namespace selftest
