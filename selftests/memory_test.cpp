// SPDX-License-Identifier: GPL-2.0-only
// Enable bits in memory of every kind: a bit follows the state of its event as soon as the memory
// can be written, the kernel does not write to memory moved from the registered address, and no
// other bit changes.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "fuse.hpp"
#include "loop_device.hpp"
#include "mapping.hpp"
#include "on_cpu.hpp"
#include "setting.hpp"
#include "swap.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

using namespace selftest;

namespace {

/// What one page of a page table maps.
const std::size_t huge_size = page_size / sizeof(std::uint64_t) * page_size;

Outcome advise(const Mapping& memory, int advice) {
    return Outcome::of(madvise(memory.at(), memory.size(), advice));
}

void must_advise(const Mapping& memory, int advice) {
    expect(advise(memory, advice), "madvise " + std::to_string(advice));
}

/// A memfd.
class MemoryFile {
public:
    explicit MemoryFile(std::size_t pages, unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING)
        : file_(memfd_create("selftest", flags)) {
        if (file_.number() < 0)
            throw_errno("memfd_create");
        resize(pages);
    }

    void resize(std::size_t pages) {
        if (ftruncate(file_.number(), static_cast<off_t>(pages * page_size)) != 0)
            throw_errno("ftruncate");
    }
    Outcome seal(int seals) { return Outcome::of(fcntl(file_.number(), F_ADD_SEALS, seals)); }
    int descriptor() const { return file_.number(); }
    Mapping map(std::size_t pages, int flags, int protection = PROT_READ | PROT_WRITE) const {
        return Mapping(pages, protection, flags, file_.number());
    }
    std::uint32_t word(std::size_t offset) const {
        std::uint32_t word = 0;
        const ssize_t size = pread(file_.number(), &word, sizeof(word), static_cast<off_t>(offset));
        if (size != sizeof(word))
            throw_errno("pread");
        return word;
    }

private:
    Descriptor file_;
};

/// The first address in a mapping at which a huge page can start.
std::byte* huge_page_start(const Mapping& memory) {
    const auto start = reinterpret_cast<std::uintptr_t>(memory.at());
    return memory.at((huge_size - start % huge_size) % huge_size);
}

/// A value of /proc/self/smaps, in kilobytes, for the mapping that contains an address. The kernel
/// may merge adjacent mappings.
unsigned long smaps(const void* address, const std::string& label) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    bool inside = false;
    for (const std::string& line : lines_of(read_text("/proc/self/smaps"))) {
        unsigned long start, end;
        if (sscanf(line.c_str(), "%lx-%lx ", &start, &end) == 2)
            inside = start <= wanted && wanted < end;
        else if (inside && line.starts_with(label + ":"))
            return std::stoul(line.substr(label.size() + 1));
    }
    throw std::runtime_error("smaps has no " + label);
}

/// The entry of /proc/self/pagemap for the page of an address.
std::uint64_t page_entry(const void* address) {
    const Descriptor file = Descriptor::open("/proc/self/pagemap", O_RDONLY);
    std::uint64_t entry = 0;
    const auto page = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(address) / page_size);
    const auto size = static_cast<ssize_t>(sizeof(entry));
    if (pread(file.number(), &entry, sizeof(entry), page * size) != size)
        throw_errno("pread");
    return entry;
}

bool is_present(const void* address) {
    return page_entry(address) >> 63 & 1;
}

bool is_swapped(const void* address) {
    return page_entry(address) >> 62 & 1;
}

/// Makes free memory contiguous, so that huge pages can be allocated.
void compact_memory() {
    expect(write_text("/proc/sys/vm/compact_memory", "1"), "compact_memory");
}

/// Reserves pages for hugetlbfs as long as the object lives.
class HugePages {
public:
    explicit HugePages(unsigned number) {
        const std::string text = std::to_string(number);
        REQUIRE(eventually([&] {
            compact_memory();
            number_.set(text);
            return read_text(path) == text + "\n";
        }));
    }

private:
    static constexpr const char* path = "/proc/sys/vm/nr_hugepages";
    Setting number_{path};
};

/// Asks the kernel to reclaim the memory, which may fail. Reclaim skips pages that are still in a
/// CPU's batch of pages to add to the LRU lists; compaction drains these batches first.
void page_out(const Mapping& memory) {
    compact_memory();
    must_advise(memory, MADV_PAGEOUT);
}

/// Three words at the end of a page. One bit of the middle word is registered; the other bits
/// belong to the program.
class Guarded {
public:
    static constexpr unsigned bit = 3;

    Guarded(std::byte* page, const Event& event)
        : words_(reinterpret_cast<Word*>(page + page_size - 3 * sizeof(Word))), event_(event) {
        file_.must_register(&words_[1], bit, event.name());
    }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;
    /// After a failed test, an enabled event would stay and keep the module from unloading.
    ~Guarded() { event_.disable(); }

    /// Fills the program's bits with a pattern. neighbours_are_kept() checks it.
    void fill() {
        for (unsigned i = 0; i < 3; i++)
            words_[i] = pattern_of(i) | (i == 1 ? words_[i] & 1u << bit : 0);
        filled_ = true;
    }
    /// Expects zeros in the program's bits from now on: the memory has lost its contents.
    void expect_zeros() { filled_ = false; }

    const Word& word() const { return words_[1]; }
    bool is_set() const { return words_[1] & 1u << bit; }
    /// Whether the bit has this value right after a state change that may have to fault the page
    /// in.
    bool follows(bool set) const { return is_set() == set; }
    bool neighbours_are_kept() const {
        for (unsigned i = 0; i < 3; i++)
            if ((words_[i] & ~(i == 1 ? 1u << bit : 0)) != (filled_ ? pattern_of(i) : 0))
                return false;
        return true;
    }
    Outcome unregister() { return file_.unregister(&words_[1], bit); }

private:
    static constexpr std::uint32_t pattern_of(unsigned i) {
        return (i % 2 ? 0xa5a5a5a5u : 0x5a5a5a5au) & ~(1u << bit);
    }

    Word* words_;
    const Event& event_;
    DataFile file_;
    bool filled_ = false;
};

/// What the test does to the memory before each state change.
struct Treatment {
    const char* name;
    std::function<void(const Mapping&)> treat;
    /// Whether the memory reads as zero afterwards.
    bool zeroes = false;
};

std::vector<Treatment> treatments() {
    static std::optional<Child> holder;
    const auto advice = [](int value) {
        return [value](const Mapping& memory) { must_advise(memory, value); };
    };
    return {
        {"nothing", [](const Mapping&) {}},
        {"MADV_DONTNEED", advice(MADV_DONTNEED), true},
        {"MADV_DONTNEED, then read",
         [](const Mapping& memory) {
             must_advise(memory, MADV_DONTNEED);
             (void)memory.at<Word>(memory.size() - sizeof(Word))->load();
         },
         true},
        {"shared with a child",
         [](const Mapping&) {
             holder.emplace([](Channel& channel) -> int {
                 channel.send('r');
                 channel.receive<char>();
                 return 0;
             });
             holder->channel().receive<char>();
         }},
        {"shared with a child that has exited", [](const Mapping&) { holder.reset(); }},
        {"read-only and writable again",
         [](const Mapping& memory) {
             if (mprotect(memory.at(), memory.size(), PROT_READ) != 0 ||
                 mprotect(memory.at(), memory.size(), PROT_READ | PROT_WRITE) != 0)
                 throw_errno("mprotect");
         }},
        {"inaccessible and writable again",
         [](const Mapping& memory) {
             if (mprotect(memory.at(), memory.size(), PROT_NONE) != 0 ||
                 mprotect(memory.at(), memory.size(), PROT_READ | PROT_WRITE) != 0)
                 throw_errno("mprotect");
         }},
        {"MADV_COLD", advice(MADV_COLD)},
        {"locked and unlocked",
         [](const Mapping& memory) {
             if (mlock(memory.at(), memory.size()) != 0 || munlock(memory.at(), memory.size()) != 0)
                 throw_errno("mlock");
         }},
    };
}

/// Enables and disables an event after treating the memory, and checks its bit.
void check_bit_follows(const Event& event, const Mapping& memory, Guarded& word,
                       const Treatment& treatment) {
    CAPTURE(treatment.name);
    for (int round = 0; round < 2; round++) {
        word.fill();
        treatment.treat(memory);
        if (treatment.zeroes)
            word.expect_zeros();
        REQUIRE(event.enable() == succeeds(1));
        CHECK(word.follows(true));
        CHECK(word.neighbours_are_kept());
        word.fill();
        treatment.treat(memory);
        if (treatment.zeroes)
            word.expect_zeros();
        REQUIRE(event.disable() == succeeds(1));
        CHECK(word.follows(false));
        CHECK(word.neighbours_are_kept());
    }
}

} // namespace

TEST_CASE("A bit in private memory follows the event after madvise, fork, mprotect and mlock",
          "[waits]") {
    const Event event(unique_name("private"));
    Mapping memory(1);
    Guarded word(memory.at(), event);
    for (const Treatment& treatment : treatments())
        check_bit_follows(event, memory, word, treatment);
    CHECK(word.unregister() == succeeds());
}

TEST_CASE("A bit in shared memory follows the event after madvise, fork, mprotect and mlock") {
    const Event event(unique_name("shared"));
    const MemoryFile file(1);
    const bool of_a_file = GENERATE(false, true);
    CAPTURE(of_a_file);
    Mapping memory(1, PROT_READ | PROT_WRITE, MAP_SHARED | (of_a_file ? 0 : MAP_ANONYMOUS),
                   of_a_file ? file.descriptor() : -1);
    Guarded word(memory.at(), event);
    for (Treatment treatment : treatments()) {
        // MADV_DONTNEED does not change the contents of shared memory.
        treatment.zeroes = false;
        check_bit_follows(event, memory, word, treatment);
    }
    check_bit_follows(
        event, memory, word,
        {"MADV_REMOVE", [](const Mapping& shared) { must_advise(shared, MADV_REMOVE); }, true});
    CHECK(word.unregister() == succeeds());
}

#ifdef __aarch64__
TEST_CASE("REG takes an address with a tag only from a process that has switched tags on") {
    const Event event(unique_name("tagged"));
    Mapping memory(1);
    const Word& word = *memory.at<Word>();
    void* const tagged = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory.at()) |
                                                 std::uintptr_t{0x5a} << 56);
    DataFile file;
    user_reg reg = registration(tagged, 0, event.name().c_str());
    CHECK(file.register_event(reg) == fails(EFAULT));

    REQUIRE(prctl(PR_SET_TAGGED_ADDR_CTRL, PR_TAGGED_ADDR_ENABLE, 0, 0, 0) == 0);
    CHECK(file.register_event(reg) == succeeds());
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word == 1);
    CHECK(file.unregister(tagged, 0) == succeeds());
    CHECK(word == 0);
    REQUIRE(event.disable() == succeeds(1));
    REQUIRE(prctl(PR_SET_TAGGED_ADDR_CTRL, 0, 0, 0, 0) == 0);
}

TEST_CASE("A bit in memory whose accesses are checked by tags (MTE) follows the event") {
    REQUIRE((getauxval(AT_HWCAP2) & HWCAP2_MTE) != 0);
    REQUIRE(prctl(PR_SET_TAGGED_ADDR_CTRL, PR_TAGGED_ADDR_ENABLE | PR_MTE_TCF_SYNC, 0, 0, 0) == 0);
    const Event event(unique_name("checked"));
    const Mapping memory(1, PROT_READ | PROT_WRITE | PROT_MTE);
    void* const tagged = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory.at()) |
                                                 std::uintptr_t{0xa} << 56);
    // The first 16 bytes get the tag; an access with another one would be a SIGSEGV.
    asm volatile(".arch_extension memtag\n\tstg %0, [%0]" : : "r"(tagged) : "memory");
    const Word& word = *static_cast<const Word*>(tagged);
    DataFile file;
    user_reg reg = registration(tagged, 0, event.name().c_str());
    REQUIRE(file.register_event(reg) == succeeds());
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word == 1);
    REQUIRE(event.disable() == succeeds(1));
    CHECK(word == 0);
    CHECK(file.unregister(tagged, 0) == succeeds());
    REQUIRE(prctl(PR_SET_TAGGED_ADDR_CTRL, 0, 0, 0, 0) == 0);
}
#endif

TEST_CASE("A bit in a mapped block device follows the event, and writeback stores it", "[long]") {
    const Event event(unique_name("written_back"));
    const Descriptor stored(memfd_create("stored", MFD_CLOEXEC));
    REQUIRE(ftruncate(stored.number(), static_cast<off_t>(page_size)) == 0);
    const LoopDevice device(stored);
    const Mapping memory(1, PROT_READ | PROT_WRITE, MAP_SHARED, device.descriptor());
    Guarded word(memory.at(), event);
    const auto write_back = [](const Mapping& written) {
        if (msync(written.at(), written.size(), MS_SYNC) != 0)
            throw_errno("msync");
    };
    for (Treatment treatment : treatments()) {
        treatment.zeroes = false;
        check_bit_follows(event, memory, word, treatment);
    }
    check_bit_follows(event, memory, word, {"written back", write_back});

    // Each update of the bit makes the page dirty again.
    const Mapping on_device(1, PROT_READ, MAP_SHARED, stored.number());
    const auto is_stored = [&] { return memcmp(on_device.at(), memory.at(), page_size) == 0; };
    for (int round = 0; round < 3; round++) {
        write_back(memory);
        REQUIRE(is_stored());
        REQUIRE(event.enable() == succeeds(1));
        CHECK(word.follows(true));
        CHECK_FALSE(is_stored());
        write_back(memory);
        CHECK(is_stored());
        REQUIRE(event.disable() == succeeds(1));
        CHECK(word.follows(false));
        write_back(memory);
        CHECK(is_stored());
    }

    // State changes in parallel with writeback.
    std::atomic<bool> stop{false};
    std::jthread writing_back([&] {
        while (!stop)
            write_back(memory);
    });
    unsigned wrong = 0;
    for (unsigned round = 0; round < fewer_if_debug(40, 10); round++) {
        expect(event.enable(), "enable");
        wrong += !eventually([&] { return word.is_set(); });
        expect(event.disable(), "disable");
        wrong += !eventually([&] { return !word.is_set(); });
    }
    stop = true;
    writing_back.join();
    CHECK(wrong == 0);
    CHECK(word.neighbours_are_kept());
    CHECK(word.unregister() == succeeds());
}

TEST_CASE("A bit in a private file mapping follows the event, and the file does not change") {
    const Event event(unique_name("private_file"));
    const MemoryFile file(1);
    {
        Mapping memory = file.map(1, MAP_PRIVATE);
        Guarded word(memory.at(), event);
        for (const Treatment& treatment : treatments())
            check_bit_follows(event, memory, word, treatment);
    }
    std::vector<std::size_t> changed;
    for (std::size_t offset = 0; offset < page_size; offset += sizeof(Word))
        if (file.word(offset) != 0)
            changed.push_back(offset);
    CHECK(changed.empty());
}

TEST_CASE("A bit follows the event after MADV_FREE, whether or not the page was reclaimed") {
    const Event event(unique_name("lazily"));
    // Reclaim skips a page that is still in another CPU's LRU batch.
    const OnCpu cpu(0);
    Mapping memory(1);
    Guarded word(memory.at(), event);
    word.fill();
    must_advise(memory, MADV_FREE);
    // Reclaims the page without keeping its contents.
    REQUIRE(eventually([&] {
        must_advise(memory, MADV_PAGEOUT);
        return !is_present(memory.at());
    }));
    word.expect_zeros();
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word.follows(true));
    CHECK(word.neighbours_are_kept());

    word.fill();
    must_advise(memory, MADV_FREE);
    // The kernel's write to the page cancels MADV_FREE.
    REQUIRE(event.disable() == succeeds(1));
    must_advise(memory, MADV_PAGEOUT);
    CHECK(word.follows(false));
    CHECK(word.neighbours_are_kept());
}

TEST_CASE("REG succeeds in a page that the kernel tries to reclaim at the same time") {
    const Event event(unique_name("reclaim"));
    Word other{0};
    DataFile file;
    REQUIRE(file.register_event(&other, 0, event.name()) == succeeds());
    const Enabled enabled{event};
    Mapping memory(1);
    Word& word = *memory.at<Word>();
    std::atomic<unsigned> attempts{0};
    // On one CPU the reclaiming thread can be preempted while it holds the page lock.
    const OnCpu cpu(0);
    std::jthread reclaiming([&](const std::stop_token& stop) {
        // Without swap space the page stays.
        for (; !stop.stop_requested(); attempts++)
            must_advise(memory, MADV_PAGEOUT);
    });
    unsigned wrong = 0;
    for (Rounds rounds(500, 20000, std::chrono::seconds(2)); rounds.next();) {
        // A new page, which is still clean.
        must_advise(memory, MADV_DONTNEED);
        word = 0;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        const Outcome registered = file.register_event(&word, 0, event.name());
        wrong += registered != succeeds() || word != 1;
        file.unregister(&word, 0);
    }
    CHECK(wrong == 0);
    CHECK(attempts > 0);
}

TEST_CASE("A bit in a page that was swapped out follows the event") {
    const SwapSpace swap(64);
    const Event event(unique_name("swapped"));
    const int kind = GENERATE(MAP_PRIVATE, MAP_SHARED);
    CAPTURE(kind == MAP_SHARED);
    Mapping memory(1, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS);
    Guarded word(memory.at(), event);
    // pagemap does not show the swap entries of shared memory.
    const auto swap_out = [&] {
        page_out(memory);
        return kind == MAP_SHARED ? !is_present(memory.at()) : is_swapped(memory.at());
    };
    for (int round = 0; round < 2; round++) {
        word.fill();
        REQUIRE(eventually(swap_out));
        REQUIRE(event.enable() == succeeds(1));
        CHECK(word.follows(true));
        CHECK(word.neighbours_are_kept());
        REQUIRE(eventually(swap_out));
        REQUIRE(event.disable() == succeeds(1));
        CHECK(word.follows(false));
        CHECK(word.neighbours_are_kept());
    }
    REQUIRE(event.enable() == succeeds(1));
    REQUIRE(eventually(swap_out));
    CHECK(word.unregister() == succeeds());
    CHECK_FALSE(word.is_set());
    CHECK(word.neighbours_are_kept());
    REQUIRE(event.disable() == succeeds(1));
}

// A program would have to fill the page only if it had never been there.
TEST_CASE("A bit in a page of userfaultfd or FUSE that was swapped out follows the event") {
    const SwapSpace swap(64);
    const Event event(unique_name("swapped"));
    const bool fuse = GENERATE(false, true);
    CAPTURE(fuse);
    UnresponsiveFile file(UnresponsiveFile::Kind::writes);
    const Descriptor backing = Descriptor::open(file.path(), O_RDWR);
    const Mapping memory(1, PROT_READ | PROT_WRITE,
                         fuse ? MAP_PRIVATE : MAP_PRIVATE | MAP_ANONYMOUS,
                         fuse ? backing.number() : -1);
    std::optional<Userfault> fault;
    if (!fuse)
        fault.emplace(memory).answer();
    Guarded word(memory.at(), event);
    word.fill();
    for (const bool enable : {true, false}) {
        REQUIRE(eventually([&] {
            page_out(memory);
            return is_swapped(memory.at());
        }));
        REQUIRE((enable ? event.enable() : event.disable()) == succeeds(1));
        CHECK(word.follows(enable));
        CHECK(word.neighbours_are_kept());
    }
}

TEST_CASE("A bit in a transparent huge page follows the event") {
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
        // Of the kernels that are tested, only those with CONFIG_PREEMPT_RT have none.
        utsname kernel;
        REQUIRE(uname(&kernel) == 0);
        REQUIRE_THAT(kernel.version, Catch::Contains("PREEMPT_RT"));
        return;
    }
    const Event event(unique_name("huge"));
    Mapping memory(2 * huge_size / page_size);
    std::byte* const huge = huge_page_start(memory);
    must_advise(memory, MADV_HUGEPAGE);
    const unsigned long before = smaps(huge, "AnonHugePages");
    REQUIRE(eventually([&] {
        compact_memory();
        must_advise(memory, MADV_DONTNEED);
        *huge = std::byte{1};
        return smaps(huge, "AnonHugePages") >= before + huge_size / 1024;
    }));
    Guarded word(huge + huge_size / 2, event);
    for (const Treatment& treatment : treatments()) {
        check_bit_follows(event, memory, word, treatment);
        *huge = std::byte{1};
    }
    CHECK(word.unregister() == succeeds());
}

TEST_CASE("A bit in a hugetlbfs page follows the event") {
    const HugePages huge_pages(6);
    const Event event(unique_name("hugetlb"));
    const int kind = GENERATE(MAP_PRIVATE, MAP_SHARED);
    CAPTURE(kind == MAP_SHARED);
    Mapping memory(huge_size / page_size, PROT_READ | PROT_WRITE,
                   kind | MAP_ANONYMOUS | MAP_HUGETLB);
    Guarded word(memory.at() + huge_size / 2, event);
    for (Treatment treatment : treatments()) {
        // hugetlbfs does not support MADV_COLD.
        if (treatment.name == std::string_view("MADV_COLD"))
            continue;
        treatment.zeroes = treatment.zeroes && kind == MAP_PRIVATE;
        // The page is absent then: see the next test.
        if (treatment.zeroes && treatment.name == std::string_view("MADV_DONTNEED"))
            continue;
        check_bit_follows(event, memory, word, treatment);
    }
    CHECK(word.unregister() == succeeds());
}

TEST_CASE("A bit in an absent page of hugetlbfs follows the event") {
    const HugePages huge_pages(2);
    const Event event(unique_name("hugetlb"));
    Mapping memory(huge_size / page_size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB);
    Guarded word(memory.at(), event);
    must_advise(memory, MADV_DONTNEED);
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word.follows(true));
    REQUIRE(event.disable() == succeeds(1));
    must_advise(memory, MADV_DONTNEED);
    CHECK(word.unregister() == succeeds());
}

TEST_CASE("A bit in a page merged by KSM follows the event; the other merged pages do not change") {
    const std::string ksm = "/sys/kernel/mm/ksm/";
    const auto shared = [&] { return std::stoul(read_text(ksm + "pages_sharing")); };
    const Event event(unique_name("merged"));
    constexpr std::size_t pages = 8;
    Mapping memory(pages);
    std::fill_n(memory.at(), memory.size(), std::byte{0x81});
    Guarded word(memory.at(), event);
    word.fill();
    // KSM merges pages with the same contents.
    for (std::size_t page = 1; page < pages; page++)
        std::copy_n(memory.at(), page_size, memory.at(page * page_size));
    must_advise(memory, MADV_MERGEABLE);
    Setting sleep(ksm + "sleep_millisecs"), run(ksm + "run");
    sleep.set("0");
    run.set("1");
    const auto merge = [&] { return eventually([&] { return shared() == pages - 1; }); };
    const auto others_differ = [&] {
        std::size_t differ = 0;
        for (std::size_t page = 2; page < pages; page++)
            differ += !std::equal(memory.at(page * page_size), memory.at((page + 1) * page_size),
                                  memory.at(page_size));
        return differ;
    };
    REQUIRE(merge());
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word.follows(true));
    CHECK(word.neighbours_are_kept());
    CHECK(others_differ() == 0);
    CHECK((memory.at<Word>(2 * page_size - 2 * sizeof(Word))->load() & 1u << Guarded::bit) == 0);

    REQUIRE(event.disable() == succeeds(1));
    REQUIRE(merge());
    CHECK(word.follows(false));
    CHECK(word.neighbours_are_kept());
    // Unmerges all pages.
    run.set("2");
}

TEST_CASE("A bit in a truncated and re-extended file follows the event from the next change") {
    const Event event(unique_name("cut"));
    const int kind = GENERATE(MAP_PRIVATE, MAP_SHARED);
    CAPTURE(kind == MAP_SHARED);
    MemoryFile file(2);
    Mapping memory = file.map(2, kind);
    Guarded kept(memory.at(), event), truncated(memory.at(page_size), event);
    kept.fill();
    file.resize(1);
    REQUIRE(event.enable() == succeeds(1));
    CHECK(kept.follows(true));
    file.resize(2);
    CHECK_FALSE(truncated.is_set());
    CHECK(truncated.neighbours_are_kept());
    REQUIRE(event.disable() == succeeds(1));
    REQUIRE(event.enable() == succeeds(1));
    CHECK(truncated.follows(true));
    CHECK(kept.follows(true));
    CHECK(kept.neighbours_are_kept());

    file.resize(1);
    CHECK(truncated.unregister() == fails(EFAULT));
    file.resize(2);
    // UNREG ended the registration although it could not clear the bit.
    REQUIRE(event.disable() == succeeds(1));
    REQUIRE(event.enable() == succeeds(1));
    CHECK_FALSE(truncated.is_set());
    CHECK(truncated.unregister() == fails(ENOENT));
    REQUIRE(event.disable() == succeeds(1));
}

TEST_CASE("A state change skips unmapped memory; the next one updates a new mapping there") {
    const Event event(unique_name("anew"));
    Mapping memory(1);
    Guarded word(memory.at(), event);
    Word other{0};
    DataFile file;
    REQUIRE(file.register_event(&other, 0, event.name()) == succeeds());
    memory.unmap();
    REQUIRE(event.enable() == succeeds(1));
    CHECK(other == 1);
    REQUIRE(mmap(memory.at(), page_size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == memory.at());
    CHECK_FALSE(word.is_set());
    REQUIRE(event.disable() == succeeds(1));
    word.fill();
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word.follows(true));
    CHECK(word.neighbours_are_kept());

    memory.unmap();
    CHECK(word.unregister() == fails(EFAULT));
    CHECK(word.unregister() == fails(ENOENT));
    REQUIRE(mmap(memory.at(), page_size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == memory.at());
    word.expect_zeros();
    REQUIRE(event.disable() == succeeds(1));
    REQUIRE(event.enable() == succeeds(1));
    CHECK_FALSE(word.is_set());
    CHECK(word.neighbours_are_kept());
    REQUIRE(event.disable() == succeeds(1));
}

TEST_CASE("The kernel does not write to registered memory that mremap() has moved") {
    const Event event(unique_name("moved"));
    Mapping memory(1), target(1);
    Guarded word(memory.at(), event);
    word.fill();
    const bool set = GENERATE(false, true);
    CAPTURE(set);
    if (set)
        REQUIRE(event.enable() == succeeds(1));
    const std::vector<std::byte> before(memory.at(), memory.at(page_size));
    REQUIRE(mremap(memory.at(), page_size, page_size, MREMAP_MAYMOVE | MREMAP_FIXED, target.at()) ==
            target.at());
    for (int round = 0; round < 2; round++) {
        REQUIRE((set == (round == 0) ? event.disable() : event.enable()) == succeeds(1));
        CHECK(std::equal(before.begin(), before.end(), target.at()));
    }
    // The old address is still registered.
    CHECK(word.unregister() == fails(EFAULT));
    CHECK(std::equal(before.begin(), before.end(), target.at()));
    event.disable();
}

TEST_CASE("The bit at a registered address follows the event after MREMAP_DONTUNMAP") {
    const Event event(unique_name("left"));
    Mapping memory(1), target(1);
    Guarded word(memory.at(), event);
    word.fill();
    REQUIRE(mremap(memory.at(), page_size, page_size,
                   MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, target.at()) == target.at());
    word.expect_zeros();
    Enabled enabled{event};
    CHECK(word.follows(true));
    CHECK(word.neighbours_are_kept());
    CHECK((target.at<Word>(page_size - 2 * sizeof(Word))->load() & 1u << Guarded::bit) == 0);
}

TEST_CASE("The kernel writes to no file page that the program unmapped, replaced or protected") {
    const Event event(unique_name("unmapped"));
    MemoryFile file(1);
    Mapping other = file.map(1, MAP_SHARED);
    Mapping memory = file.map(1, MAP_SHARED);
    Guarded word(memory.at(), event);
    word.fill();
    const std::vector<std::byte> before(other.at(), other.at(page_size));
    switch (GENERATE(0, 1, 2)) {
    case 0:
        memory.unmap();
        break;
    case 1:
        REQUIRE(mmap(memory.at(), page_size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory.at());
        break;
    case 2:
        memory.protect(PROT_READ);
        break;
    }
    for (int round = 0; round < 2; round++) {
        Enabled enabled{event};
        CHECK(std::equal(before.begin(), before.end(), other.at()));
    }
    CHECK(std::equal(before.begin(), before.end(), other.at()));
}

TEST_CASE("The kernel does not write to a file sealed with F_SEAL_WRITE") {
    const Event event(unique_name("sealed"));
    MemoryFile file(1);
    SECTION("REG in a read-only shared mapping fails with EFAULT") {
        REQUIRE(file.seal(F_SEAL_WRITE) == succeeds());
        const Mapping memory = file.map(1, MAP_SHARED, PROT_READ);
        DataFile data;
        CHECK(data.register_event(memory.at(), 0, event.name()) == fails(EFAULT));
    }
    SECTION("a bit in a private mapping follows the event") {
        REQUIRE(file.seal(F_SEAL_WRITE) == succeeds());
        const Mapping memory = file.map(1, MAP_PRIVATE);
        Guarded word(memory.at(), event);
        const Enabled enabled{event};
        CHECK(word.follows(true));
    }
    SECTION("the file is sealed after its registered mapping was unmapped") {
        Mapping memory = file.map(1, MAP_SHARED);
        Guarded word(memory.at(), event);
        CHECK(file.seal(F_SEAL_WRITE) == fails(EBUSY));
        memory.unmap();
        // The kernel keeps no reference to the page that would prevent the seal.
        CHECK(file.seal(F_SEAL_WRITE) == succeeds());
        REQUIRE(mmap(memory.at(), page_size, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE,
                     file.descriptor(), 0) == memory.at());
        const Enabled enabled{event};
        CHECK_FALSE(word.is_set());
    }
    for (std::size_t offset = 0; offset < page_size; offset += sizeof(Word))
        if (file.word(offset) != 0)
            FAIL("the file has changed at " << offset);
}

TEST_CASE("A bit in an F_SEAL_FUTURE_WRITE file is updated only in mappings older than the seal") {
    const Event event(unique_name("future"));
    MemoryFile file(1);
    const Mapping memory = file.map(1, MAP_SHARED);
    Guarded word(memory.at(), event);
    REQUIRE(file.seal(F_SEAL_FUTURE_WRITE) == succeeds());
    must_advise(memory, MADV_DONTNEED);
    {
        const Enabled enabled{event};
        CHECK(word.follows(true));
    }
    CHECK(word.follows(false));
    const Mapping later = file.map(1, MAP_SHARED, PROT_READ);
    DataFile data;
    CHECK(data.register_event(later.at(), 0, event.name()) == fails(EFAULT));
}

// The task that changes the state holds event_mutex.
TEST_CASE("The task that changes an event's state takes no hugetlbfs page fault") {
    const HugePages huge_pages(2);
    const Event event(unique_name("hugetlb")), fault(unique_name("fault"), "selftests");
    const Definition probe("kprobe_events", "p:selftests/" + fault.name() + " hugetlb_fault",
                           "-:selftests/" + fault.name());
    Mapping memory(huge_size / page_size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB);
    Guarded word(memory.at(), event);
    Instance instance;
    REQUIRE(instance.enable(fault) == succeeds());
    // The page is shared with this child, so it has to be copied.
    Child administrator([&](Channel& channel) -> int {
        channel.receive<char>();
        const int failed = !event.enable().ok();
        channel.receive<char>();
        return failed;
    });
    administrator.channel().send('e');
    CHECK(eventually([&] { return word.is_set(); }));
    REQUIRE(instance.disable(fault) == succeeds());
    unsigned faults = 0;
    for (const std::string& line : lines_of(read_text(instance.path("trace"))))
        faults += line.find(" " + fault.name() + ":") != std::string::npos &&
                  line.find("-" + std::to_string(gettid()) + " ") != std::string::npos;
    CHECK(faults > 0);
    administrator.channel().send('e');
    CHECK(administrator.wait() == 0);
    REQUIRE(event.disable() == succeeds(1));
    CHECK(word.unregister() == succeeds());
}
