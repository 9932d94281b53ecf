// SPDX-License-Identifier: GPL-2.0-or-later
#include "otlp/batch.hpp"

namespace tool::otlp {

void batch::add(const std::string& resource_key, std::string_view item, std::uint64_t records) {
    auto*& scope = scopes_[resource_key];
    if (!scope) {
        auto& added = *request_.add_resources();
        *added.mutable_resource() = known_.find(resource_key);
        scope = added.mutable_scope();
        size_ += added.resource().ByteSizeLong();
        part_.mutable_scope()->set_name(scope_name);
    }
    part_.set_item(item.data(), item.size());
    part_.AppendToString(scope);
    part_.clear_scope();
    records_ += records;
    size_ += item.size();
}

std::string batch::take() {
    std::string result = request_.SerializeAsString();
    // Not Clear(), which keeps the memory of the largest request.
    request_ = message::SerializedRequest();
    scopes_.clear();
    records_ = 0;
    size_ = 0;
    return result;
}

} // namespace tool::otlp
