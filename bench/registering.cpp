// SPDX-License-Identifier: GPL-2.0-only
// The cost of registering and unregistering, depending on the number of registrations.
#include "clock.hpp"
#include "groups.hpp"

#include "text_file.hpp"
#include "user_events.hpp"

#include <functional>
#include <map>
#include <string>
#include <sys/ioctl.h>
#include <vector>

using namespace selftest;

namespace bench {

namespace {

constexpr std::size_t steps[] = {10, 1000, 10'000};
/// The number of operations that are measured around each step, for their median.
constexpr std::size_t samples = 9;

/// Registrations with different addresses. It does not use DataFile::register_event(), whose list
/// of registrations gets slower as it grows.
class Registrations {
public:
    /// `command` returns the command of the nth registration.
    explicit Registrations(std::function<std::string(std::size_t)> command)
        : command_(std::move(command)), words_(steps[std::size(steps) - 1] + samples) {}

    Registrations(const Registrations&) = delete;
    Registrations& operator=(const Registrations&) = delete;
    ~Registrations() {
        for (std::size_t n = 0; n < count_; n++) {
            user_unreg unreg = unregistration(&words_[n], 0);
            ioctl(file_.descriptor(), DIAG_IOCSUNREG, &unreg);
        }
    }

    std::size_t count() const { return count_; }

    /// Adds the next registration. Returns the cost.
    double add() { return add(count_++); }

    double add(std::size_t n) {
        const std::string command = command_(n);
        user_reg reg = registration(&words_[n], 0, command.c_str());
        return ioctl_cost(DIAG_IOCSREG, &reg, "register");
    }

    double remove(std::size_t n) {
        user_unreg unreg = unregistration(&words_[n], 0);
        return ioctl_cost(DIAG_IOCSUNREG, &unreg, "unregister");
    }

private:
    double ioctl_cost(unsigned long request, void* argument, const char* what) {
        int result = -1;
        const double cost =
            cost_once([&] { result = ioctl(file_.descriptor(), request, argument); });
        if (result != 0)
            throw_errno(what);
        return cost;
    }

    std::function<std::string(std::size_t)> command_;
    std::vector<Word> words_;
    std::size_t count_ = 0;
    DataFile file_;
};

void measure(Report& report, const std::string& of_what, Registrations&& registrations) {
    for (std::size_t step : steps) {
        std::vector<double> adding, removing;
        while (registrations.count() < step - samples / 2 - 1)
            registrations.add();
        for (std::size_t i = 0; i < samples; i++)
            adding.push_back(registrations.add());
        // Remove registrations that are spread evenly, and add each again.
        for (std::size_t i = 0; i < samples; i++) {
            const std::size_t n = (2 * i + 1) * registrations.count() / (2 * samples);
            removing.push_back(registrations.remove(n));
            registrations.add(n);
        }
        const std::string nth = std::to_string(step) + "th " + of_what;
        report.add("register the " + nth, median(adding));
        report.add("unregister one of " + std::to_string(step) + ", " + of_what, median(removing));
    }
}

/// Measures formats of one name. Each of the measured ones has an open file of its own. Closing the
/// file removes the event.
void measure_formats(Report& report) {
    // The kernel frees the events of the measurements above asynchronously.
    stable_status_count("Active: ");
    const std::string name = unique_name("formats");
    Word word{0};
    std::size_t count = 0;
    const auto add = [&](const DataFile& file) {
        const std::string command = name + " u32 a_" + std::to_string(count++);
        user_reg reg = registration(&word, 0, command.c_str(), 4, USER_EVENT_REG_MULTI_FORMAT);
        int result = -1;
        const double cost =
            cost_once([&] { result = ioctl(file.descriptor(), DIAG_IOCSREG, &reg); });
        user_unreg unreg = unregistration(&word, 0);
        if (result != 0 || ioctl(file.descriptor(), DIAG_IOCSUNREG, &unreg) != 0)
            throw_errno("register a format");
        return cost;
    };
    const DataFile file;
    // In-tree, each registration reads all formats of its name: it would take hours.
    const bool in_tree = !exists("/sys/module/user_events");
    for (const auto& [step, measured] :
         {std::pair<std::size_t, std::size_t>{10, 10}, {30'000, in_tree ? 3000 : 30'000}}) {
        while (count < measured - 1)
            add(file);
        std::vector<double> adding, removing;
        // Only the second half counts: the first one warms up.
        for (std::size_t i = 0; i < 2 * samples; i++) {
            if (i == samples) {
                adding.clear();
                removing.clear();
            }
            DataFile own;
            adding.push_back(add(own));
            removing.push_back(cost_once([&] { own.close(); }));
        }
        const std::string nth = std::to_string(step) + "th format of one name";
        const std::string note =
            measured == step ? "" : "with " + std::to_string(measured) + " formats";
        report.add("register the " + nth, median(adding), "instructions", note);
        report.add("remove the " + nth, median(removing), "instructions", note);
    }
}

/// Measures new events while there are rules for others. The cost of an event depends on what was
/// created and removed before, so events without and with rules take turns. In-tree user_events
/// have no rules.
void measure_rules(Report& report) {
    const std::string path = tracing_file("user_events_rules");
    const std::string name = unique_name("ruled");
    Registrations registrations(
        [&](std::size_t n) { return name + "_" + std::to_string(1000 + n) + " u32 a"; });
    std::map<unsigned, std::vector<double>> adding;
    // Only the second half counts: the first one warms up.
    for (std::size_t i = 0; i < 2 * samples; i++) {
        for (unsigned rules : {0, 100}) {
            std::string text;
            for (unsigned n = 0; n < rules; n++)
                text += "order_" + std::to_string(n) + "_* if cents > 100\n";
            if (exists(path))
                expect(write_text(path, text, O_TRUNC), "write rules");
            const double cost = registrations.add();
            if (i >= samples)
                adding[rules].push_back(cost);
        }
    }
    if (exists(path))
        expect(write_text(path, "", O_TRUNC), "remove rules");
    for (const auto& [rules, costs] : adding)
        report.add("register an event, " + std::to_string(rules) + " rules for others",
                   median(costs));
}

} // namespace

void registering(Report& report) {
    const std::string one = unique_name("one");
    measure(report, "address of one event",
            Registrations([&](std::size_t) { return one + " u32 a"; }));
    const std::string many = unique_name("many");
    measure(report, "event", Registrations([&](std::size_t n) {
                return many + "_" + std::to_string(n) + " u32 a";
            }));
    measure_rules(report);
    measure_formats(report);
}

} // namespace bench
