// SPDX-License-Identifier: GPL-2.0-only
#include "coverage.hpp"

#include "descriptor.hpp"
#include "text_file.hpp"

#include <array>
#include <atomic>
#include <fcntl.h>
#include <linux/kcov.h>
#include <new>
#include <sys/ioctl.h>

using namespace selftest;

namespace calls {

namespace {

/// A feature is a hash below this limit.
constexpr std::size_t features_max = 1U << 20U;
/// The module's code is smaller than this.
constexpr std::size_t code_size_max = 1U << 19U;
/// Further features of an input are not recorded.
constexpr std::size_t input_features_max = 1U << 15U;

/// The most children alive at the same time that are traced.
constexpr unsigned children_max = 6;

std::uint32_t hash(std::uint64_t value) {
    return static_cast<std::uint32_t>((value * 0x9e3779b97f4a7c15U) >> 44U) % features_max;
}

} // namespace

/// A buffer to which KCOV writes the addresses that one task executes.
class Coverage::Trace {
public:
    Trace()
        : file_(Descriptor::open("/sys/kernel/debug/kcov", O_RDWR)), memory_(prepare(file_)),
          addresses_(memory_.at<std::uint64_t>()) {}

    /// Starts tracing the calling task. Returns false if another task still uses the buffer.
    bool enable() { return ioctl(file_.number(), KCOV_ENABLE, KCOV_TRACE_PC) == 0; }

    void clear() { std::atomic_ref(addresses_[0]).store(0, std::memory_order_relaxed); }
    std::uint64_t size() { return std::atomic_ref(addresses_[0]).load(std::memory_order_relaxed); }
    std::uint64_t address(std::uint64_t i) const { return addresses_[1 + i]; }

private:
    static constexpr std::size_t pages = 128;

    static Mapping prepare(const Descriptor& file) {
        if (ioctl(file.number(), KCOV_INIT_TRACE, pages * page_size / sizeof(std::uint64_t)) != 0)
            throw_errno("KCOV_INIT_TRACE");
        return Mapping(pages, PROT_READ | PROT_WRITE, MAP_SHARED, file.number());
    }

    Descriptor file_;
    Mapping memory_;
    std::uint64_t* addresses_;
};

struct Coverage::Shared {
    std::uint32_t input;
    std::atomic<std::uint32_t> nr_features;
    std::array<std::uint32_t, input_features_max> features;
    /// For each feature, the last input that had it.
    std::array<std::uint32_t, features_max> last;
    std::array<bool, code_size_max> reached;
    std::array<std::array<unsigned long, errors>, kinds> outcomes;
};

Coverage::Coverage(bool trace)
    : memory_((sizeof(Shared) + page_size - 1) / page_size, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_ANONYMOUS),
      // The mapping is zeroed, which is a valid initial state.
      shared_(memory_.at<Shared>()) {
    if (!trace)
        return;
    code_ = std::stoull(read_text("/sys/module/user_events/sections/.text"), nullptr, 16);
    for (unsigned i = 0; i <= children_max; i++)
        traces_.emplace_back();
    current_ = &traces_.front();
    if (!current_->enable())
        throw_errno("KCOV_ENABLE");
}

Coverage::~Coverage() = default;

void Coverage::begin_input() {
    shared_->input++;
    shared_->nr_features = 0;
}

Coverage::Features Coverage::features() const {
    const auto size = std::min<std::size_t>(shared_->nr_features, input_features_max);
    return {shared_->features.begin(), shared_->features.begin() + static_cast<long>(size)};
}

// A child inherits its parent's mappings. It uses the first buffer that no other task uses.
void Coverage::in_child() {
    current_ = nullptr;
    for (Trace& trace : traces_)
        if (trace.enable()) {
            current_ = &trace;
            return;
        }
}

void Coverage::begin_operation() {
    if (current_)
        current_->clear();
}

void Coverage::end_operation(Kind kind, const Outcome& outcome) {
    const auto kind_number = static_cast<std::size_t>(kind);
    const auto error = static_cast<std::size_t>(std::min(outcome.error(), errors - 1));
    const std::uint64_t size = current_ ? current_->size() : 0;

    shared_->outcomes.at(kind_number).at(error)++;
    add(hash(kind_number << 32U | error << 8U | 1U));
    std::uint64_t before = kind_number;
    for (std::uint64_t i = 0; i < size; i++) {
        const std::uint64_t offset = current_->address(i) - code_;
        // The module's init and exit code is outside .text.
        if (offset >= code_size_max)
            continue;
        shared_->reached.at(offset) = true;
        add(hash(before << 32U | offset << 1U));
        before = offset;
    }
}

void Coverage::add(std::uint32_t feature) {
    if (shared_->last.at(feature) == shared_->input)
        return;
    shared_->last.at(feature) = shared_->input;
    const std::uint32_t at = shared_->nr_features++;
    if (at < input_features_max)
        shared_->features.at(at) = feature;
}

unsigned long Coverage::outcomes(Kind kind, int error) const {
    return shared_->outcomes.at(static_cast<std::size_t>(kind)).at(static_cast<std::size_t>(error));
}

std::vector<std::uint32_t> Coverage::addresses() const {
    std::vector<std::uint32_t> offsets;
    for (std::size_t offset = 0; offset < code_size_max; offset++)
        if (shared_->reached.at(offset))
            offsets.push_back(static_cast<std::uint32_t>(offset));
    return offsets;
}

} // namespace calls
