// SPDX-License-Identifier: GPL-2.0-only
#include "fuse.hpp"

#include "kernel_module.hpp"
#include "mapping.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdexcept>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>

namespace selftest {

namespace {

constexpr std::uint64_t file_node = 2;

fuse_attr attributes(std::uint64_t node) {
    fuse_attr attr{};
    attr.ino = node;
    attr.size = node == file_node ? page_size : 0;
    attr.mode = node == file_node ? S_IFREG | 0666 : S_IFDIR | 0777;
    attr.nlink = 1;
    return attr;
}

void answer(const Descriptor& device, std::uint64_t unique, const void* body, std::size_t size) {
    const auto whole = static_cast<std::uint32_t>(sizeof(fuse_out_header) + size);
    fuse_out_header header{whole, 0, unique};
    const iovec parts[] = {{&header, sizeof(header)}, {const_cast<void*>(body), size}};
    // Fails if the requesting task has exited.
    (void)!writev(device.number(), parts, 2);
}

template <typename T>
void answer(const Descriptor& device, const fuse_in_header& request, const T& body) {
    answer(device, request.unique, &body, sizeof(body));
}

/// Returns a request's arguments, which follow its header.
template <typename T>
T body_of(const char* request) {
    T body;
    std::memcpy(&body, request + sizeof(fuse_in_header), sizeof(body));
    return body;
}

void answer_error(const Descriptor& device, std::uint64_t unique, int error) {
    const fuse_out_header header{sizeof(header), -error, unique};
    (void)!write(device.number(), &header, sizeof(header));
}

Descriptor open_device() {
    ensure_kernel_module("/dev/fuse", "fuse");
    return Descriptor::open("/dev/fuse", O_RDWR);
}

} // namespace

FuseFile::FuseFile(std::string directory)
    : directory_(std::move(directory)), device_(open_device()) {
    const std::string options =
        "fd=" + std::to_string(device_.number()) + ",rootmode=40000,user_id=0,group_id=0";
    if (mkdir(directory_.c_str(), 0755) != 0 ||
        mount("selftest", directory_.c_str(), "fuse", 0, options.c_str()) != 0)
        throw_errno("mount " + directory_);
}

FuseFile::~FuseFile() {
    end();
    rmdir(directory_.c_str());
}

void FuseFile::end() const {
    umount2(directory_.c_str(), MNT_FORCE);
    umount2(directory_.c_str(), MNT_DETACH);
}

void FuseFile::complete(const Transfer& transfer, int error) const {
    if (error != 0) {
        answer_error(device_, transfer.unique, error);
    } else if (transfer.kind == Transfer::Kind::reads) {
        const std::vector<char> zeros(std::min<std::size_t>(transfer.size, page_size));
        answer(device_, transfer.unique, zeros.data(), zeros.size());
    } else {
        const fuse_write_out written{transfer.size, 0};
        answer(device_, transfer.unique, &written, sizeof(written));
    }
}

void FuseFile::serve(const std::function<void(const Transfer&)>& receive) {
    alignas(8) std::array<char, FUSE_MIN_READ_BUFFER + (1 << 17)> buffer;
    ssize_t size;
    // Fails with ENODEV once the file system is unmounted.
    while ((size = read(device_.number(), buffer.data(), buffer.size())) > 0 ||
           (size < 0 && (errno == EINTR || errno == ENOENT))) {
        if (size < 0)
            continue;
        fuse_in_header request;
        std::memcpy(&request, buffer.data(), sizeof(request));
        switch (request.opcode) {
        case FUSE_INIT: {
            fuse_init_out init{};
            init.major = FUSE_KERNEL_VERSION;
            init.minor = FUSE_KERNEL_MINOR_VERSION;
            init.max_readahead = static_cast<unsigned>(page_size);
            init.max_write = static_cast<unsigned>(page_size);
            answer(device_, request, init);
            break;
        }
        case FUSE_LOOKUP: {
            fuse_entry_out entry{};
            entry.nodeid = file_node;
            entry.attr_valid = entry.entry_valid = 3600;
            entry.attr = attributes(file_node);
            answer(device_, request, entry);
            break;
        }
        case FUSE_GETATTR: {
            fuse_attr_out attr{};
            attr.attr_valid = 3600;
            attr.attr = attributes(request.nodeid);
            answer(device_, request, attr);
            break;
        }
        case FUSE_OPEN:
            answer(device_, request, fuse_open_out{});
            break;
        case FUSE_READ:
            receive({Transfer::Kind::reads,
                     request.unique,
                     body_of<fuse_read_in>(buffer.data()).size,
                     request.uid,
                     {}});
            break;
        case FUSE_WRITE: {
            const auto length = body_of<fuse_write_in>(buffer.data()).size;
            receive({Transfer::Kind::writes,
                     request.unique,
                     length,
                     request.uid,
                     {buffer.data() + sizeof(request) + sizeof(fuse_write_in), length}});
            break;
        }
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET:
        case FUSE_INTERRUPT:
            break;
        case FUSE_FLUSH:
        case FUSE_RELEASE:
            answer_error(device_, request.unique, 0);
            break;
        default:
            answer_error(device_, request.unique, ENOSYS);
        }
    }
}

UnresponsiveFile::UnresponsiveFile(Kind unanswered)
    : unanswered_(unanswered), file_("/tmp/" + unique_name("fuse")), server_([this] {
          file_.serve([this](const FuseFile::Transfer& transfer) { receive(transfer); });
      }) {}

UnresponsiveFile::~UnresponsiveFile() {
    end();
    server_.join();
}

void UnresponsiveFile::respond() {
    const std::lock_guard lock(mutex_);
    responds_ = true;
    for (const auto& transfer : waiting_)
        file_.complete(transfer);
    waiting_.clear();
    waits_ = false;
}

void UnresponsiveFile::receive(const FuseFile::Transfer& transfer) {
    const std::lock_guard lock(mutex_);
    if (transfer.kind != unanswered_ || responds_) {
        file_.complete(transfer);
    } else {
        waiting_.push_back(transfer);
        user_ = transfer.user;
        waits_ = true;
    }
}

} // namespace selftest
