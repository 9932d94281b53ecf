// SPDX-License-Identifier: GPL-2.0-or-later
// A line of JSON for each record, as `report --json` prints them.
#include "export/exporter.hpp"
#include "export/output_file.hpp"

namespace tool::exporting {

namespace {

class json_exporter final : public exporter {
public:
    explicit json_exporter(const options& options) : file_(options.file) {}

    void add(const recording::record& record) override {
        append_json_line(file_.text(), record);
        file_.advance();
    }
    void add_gap(const recording::gap& gap) override {
        append_json_line(file_.text(), gap);
        file_.advance();
    }
    void finish() override { file_.finish(); }

private:
    output_file file_;
};

} // namespace

std::unique_ptr<exporter> make_json(const options& options) {
    return std::make_unique<json_exporter>(options);
}

} // namespace tool::exporting
