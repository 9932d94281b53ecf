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

/// The features' numbers are hashes.
constexpr std::size_t features_max = 1U << 20U;
/// The module's code is smaller.
constexpr std::size_t places_max = 1U << 19U;
/// How many features an input has at the most.
constexpr std::size_t features_of_one = 1U << 15U;

/// So many children of an input may live at the same time and have their places noted.
constexpr unsigned children_max = 6;

std::uint32_t hash(std::uint64_t value) {
    return static_cast<std::uint32_t>((value * 0x9e3779b97f4a7c15U) >> 44U) % features_max;
}

} // namespace

/// What the kernel writes the places of one task to.
class Coverage::Trace {
public:
    Trace()
        : file_(Descriptor::open("/sys/kernel/debug/kcov", O_RDWR)), memory_(prepare(file_)),
          places_(memory_.at<std::uint64_t>()) {}

    /// For the present task. Fails where another one still has it.
    bool enable() { return ioctl(file_.number(), KCOV_ENABLE, KCOV_TRACE_PC) == 0; }

    void clear() { std::atomic_ref(places_[0]).store(0, std::memory_order_relaxed); }
    std::uint64_t size() { return std::atomic_ref(places_[0]).load(std::memory_order_relaxed); }
    std::uint64_t place(std::uint64_t i) const { return places_[1 + i]; }

private:
    static constexpr std::size_t pages = 128;

    static Mapping prepare(const Descriptor& file) {
        if (ioctl(file.number(), KCOV_INIT_TRACE, pages * page_size / sizeof(std::uint64_t)) != 0)
            throw_errno("KCOV_INIT_TRACE");
        return Mapping(pages, PROT_READ | PROT_WRITE, MAP_SHARED, file.number());
    }

    Descriptor file_;
    Mapping memory_;
    std::uint64_t* places_;
};

struct Coverage::Shared {
    std::uint32_t input;
    std::atomic<std::uint32_t> nr_features;
    std::array<std::uint32_t, features_of_one> features;
    /// The input that had the feature last.
    std::array<std::uint32_t, features_max> last;
    std::array<bool, places_max> reached;
    std::array<std::array<unsigned long, errors>, kinds> outcomes;
};

Coverage::Coverage()
    : memory_((sizeof(Shared) + page_size - 1) / page_size, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_ANONYMOUS),
      // The mapping is all zeros, and so is the object.
      shared_(memory_.at<Shared>()),
      code_(std::stoull(read_text("/sys/module/user_events/sections/.text"), nullptr, 16)) {
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
    const auto size = std::min<std::size_t>(shared_->nr_features, features_of_one);
    return {shared_->features.begin(), shared_->features.begin() + static_cast<long>(size)};
}

// A child has the mappings of its parent, and takes the first trace that nobody has.
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
    note(hash(kind_number << 32U | error << 8U | 1U));
    std::uint64_t before = kind_number;
    for (std::uint64_t i = 0; i < size; i++) {
        const std::uint64_t place = current_->place(i) - code_;
        // Elsewhere is what runs when the module is loaded.
        if (place >= places_max)
            continue;
        shared_->reached.at(place) = true;
        note(hash(before << 32U | place << 1U));
        before = place;
    }
}

void Coverage::note(std::uint32_t feature) {
    if (shared_->last.at(feature) == shared_->input)
        return;
    shared_->last.at(feature) = shared_->input;
    const std::uint32_t at = shared_->nr_features++;
    if (at < features_of_one)
        shared_->features.at(at) = feature;
}

unsigned long Coverage::outcomes(Kind kind, int error) const {
    return shared_->outcomes.at(static_cast<std::size_t>(kind)).at(static_cast<std::size_t>(error));
}

std::vector<std::uint32_t> Coverage::places() const {
    std::vector<std::uint32_t> places;
    for (std::size_t place = 0; place < places_max; place++)
        if (shared_->reached.at(place))
            places.push_back(static_cast<std::uint32_t>(place));
    return places;
}

} // namespace calls
