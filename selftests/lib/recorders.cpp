// SPDX-License-Identifier: GPL-2.0-only
#include "recorders.hpp"

#include "bpf.hpp"
#include "perf.hpp"
#include "text_file.hpp"

#include <stdexcept>
#include <utility>

namespace selftest {

namespace {

/// An instance that is removed with the event still enabled.
class RemovedRecorder : public Recorder {
public:
    RemovedRecorder(const Event& event, pid_t) { expect(instance_.enable(event), "enable"); }
    Taken take() override {
        Taken taken;
        for (const Record& record : instance_.records())
            taken.payloads.push_back(record.payload());
        taken.count = taken.payloads.size();
        return taken;
    }

protected:
    Instance instance_;
};

class InstanceRecorder : public RemovedRecorder {
public:
    InstanceRecorder(const Event& event, pid_t task)
        : RemovedRecorder(event, task), event_(event) {}
    ~InstanceRecorder() override { instance_.disable(event_); }

private:
    Event event_;
};

class TriggerRecorder : public Recorder {
public:
    TriggerRecorder(const Event& event, pid_t) : directory_(instance_.path(event, "")) {
        expect(set(""), "trigger");
    }
    ~TriggerRecorder() override { set("!"); }
    Taken take() override {
        for (const std::string& line : lines_of(read_text(directory_ + "hist")))
            if (line.find("Hits: ") != std::string::npos) {
                const std::uint64_t before = std::exchange(hits_, std::stoul(line.substr(10)));
                return {hits_ - before, {}};
            }
        return {};
    }

private:
    Outcome set(const std::string& sign) const {
        return write_text(directory_ + "trigger", sign + "hist:size=128:keys=common_pid");
    }

    Instance instance_;
    const std::string directory_;
    std::uint64_t hits_ = 0;
};

class PerfRecorder : public Recorder {
public:
    PerfRecorder(const Event& event, pid_t task) : perf_(perf_sampling(event), task) {}
    Taken take() override {
        Taken taken;
        for (PerfSample& sample : perf_.samples())
            taken.payloads.push_back(std::move(sample.payload));
        taken.count = taken.payloads.size();
        return taken;
    }

private:
    PerfEvent perf_;
};

class BpfRecorder : public Recorder {
public:
    BpfRecorder(const Event& event, pid_t task)
        : format_(event), program_(map_, load_sum(format_.field("plus"), format_.field("minus"))),
          perf_(perf_attributes(event), task) {
        expect(perf_.attach_program(program_.descriptor()), "attach");
    }
    Taken take() override {
        const Totals totals = map_.totals();
        if (totals.sum != 0)
            throw std::runtime_error("a BPF program has seen other fields than were written");
        return {totals.runs - std::exchange(runs_, totals.runs), {}};
    }

private:
    Format format_;
    TotalsMap map_;
    Program program_;
    PerfEvent perf_;
    std::uint64_t runs_ = 0;
};

template <typename T>
RecorderKind kind(const char* name) {
    return {name, [](const Event& event, pid_t task) { return std::make_unique<T>(event, task); }};
}

const RecorderKind kinds[] = {
    kind<InstanceRecorder>("an instance"), kind<RemovedRecorder>("an instance that is removed"),
    kind<TriggerRecorder>("a trigger"), kind<PerfRecorder>("perf"), kind<BpfRecorder>("BPF")};

} // namespace

const std::span<const RecorderKind> recorder_kinds(kinds);

} // namespace selftest
