// SPDX-License-Identifier: GPL-2.0-only
// The enable bits in memory of every kind, and whatever a program does to it: right as soon as it
// can be written, never written when it is not the registrant's any more, nothing beside them.
#include "child.hpp"
#include "deadline.hpp"
#include "loop_device.hpp"
#include "mapping.hpp"
#include "on_cpu.hpp"
#include "setting.hpp"
#include "slow_kernel.hpp"
#include "swap.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <sys/mman.h>
#include <thread>

using namespace selftest;

namespace {

constexpr std::size_t huge_size = 2 << 20;

Outcome advise(const Mapping& memory, int advice) {
    return Outcome::of(madvise(memory.at(), memory.size(), advice));
}

void must_advise(const Mapping& memory, int advice) {
    expect(advise(memory, advice), "madvise " + std::to_string(advice));
}

/// A file of memory.
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

/// Part of a mapping that is a huge page's size, and on a boundary of that.
std::byte* huge_part(const Mapping& memory) {
    const auto start = reinterpret_cast<std::uintptr_t>(memory.at());
    return memory.at((huge_size - start % huge_size) % huge_size);
}

/// The figure, in kilobytes, of /proc/self/smaps for the area that an address is in. Areas that
/// adjoin may be one.
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

/// What the kernel tells of the page of an address.
std::uint64_t page_entry(const void* address) {
    const Descriptor file = Descriptor::open("/proc/self/pagemap", O_RDONLY);
    std::uint64_t entry = 0;
    const auto page = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(address) / page_size);
    const auto size = static_cast<ssize_t>(sizeof(entry));
    if (pread(file.number(), &entry, sizeof(entry), page * size) != size)
        throw_errno("pread");
    return entry;
}

/// Whether the page of an address is there.
bool is_present(const void* address) {
    return page_entry(address) >> 63 & 1;
}

/// Whether it is in swap space.
bool is_swapped(const void* address) {
    return page_entry(address) >> 62 & 1;
}

/// Has the kernel make room in one piece for pages that are larger than others.
void compact_memory() {
    expect(write_text("/proc/sys/vm/compact_memory", "1"), "compact_memory");
}

/// Pages of hugetlbfs, as many as are asked for, as long as the object lives.
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

/// Has the kernel put aside what is used least, which it may refuse to. It looks at no page that
/// another CPU has taken up and not entered in its lists; to compact memory, all CPUs do that
/// first.
void page_out(const Mapping& memory) {
    compact_memory();
    must_advise(memory, MADV_PAGEOUT);
}

/// Three words at the end of a page. One bit of that in the middle is registered; all else is the
/// program's.
class Guarded {
public:
    static constexpr unsigned bit = 3;

    Guarded(std::byte* page, const Event& event)
        : words_(reinterpret_cast<Word*>(page + page_size - 3 * sizeof(Word))), event_(event) {
        file_.index_of(&words_[1], bit, event.name());
    }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;
    /// An event that is enabled would outlive a test that fails, and keep the module from
    /// unloading.
    ~Guarded() { event_.disable(); }

    /// Gives the words beside the bit values that anybody's writing would change.
    void fill() {
        for (unsigned i = 0; i < 3; i++)
            words_[i] = pattern_of(i) | (i == 1 ? words_[i] & 1u << bit : 0);
        filled_ = true;
    }
    /// The memory has been given back, and is zero now.
    void forget() { filled_ = false; }

    const Word& word() const { return words_[1]; }
    bool is_set() const { return words_[1] & 1u << bit; }
    /// Whether it is as soon as a change of state returns that has to bring in the page.
    bool follows(bool set) const {
        return at_once([=, this] { return is_set() == set; });
    }
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

/// Whether a bit whose memory was not there at a change of state is clear, now that it is. One that
/// is late may be set.
bool stays_clear(const Guarded& word) {
    return !word.is_set() || bits_may_be_late();
}

/// What is done to the memory before each change of state.
struct Treatment {
    const char* name;
    std::function<void(const Mapping&)> treat;
    /// Whether the memory reads as zero afterwards.
    bool drops = false;
};

std::vector<Treatment> treatments() {
    static std::optional<Child> holder;
    const auto advice = [](int value) {
        return [value](const Mapping& memory) { must_advise(memory, value); };
    };
    return {
        {"nothing", [](const Mapping&) {}},
        {"given back", advice(MADV_DONTNEED), true},
        {"given back, and read",
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
        {"that was shared with a child", [](const Mapping&) { holder.reset(); }},
        {"read-only and writable again",
         [](const Mapping& memory) {
             if (mprotect(memory.at(), memory.size(), PROT_READ) != 0 ||
                 mprotect(memory.at(), memory.size(), PROT_READ | PROT_WRITE) != 0)
                 throw_errno("mprotect");
         }},
        {"not accessible and writable again",
         [](const Mapping& memory) {
             if (mprotect(memory.at(), memory.size(), PROT_NONE) != 0 ||
                 mprotect(memory.at(), memory.size(), PROT_READ | PROT_WRITE) != 0)
                 throw_errno("mprotect");
         }},
        {"cold", advice(MADV_COLD)},
        {"locked",
         [](const Mapping& memory) {
             if (mlock(memory.at(), memory.size()) != 0 || munlock(memory.at(), memory.size()) != 0)
                 throw_errno("mlock");
         }},
    };
}

/// Enables and disables an event, with memory treated before each, and looks at its bit.
void check_that_it_follows(const Event& event, const Mapping& memory, Guarded& word,
                           const Treatment& treatment) {
    CAPTURE(treatment.name);
    for (int round = 0; round < 2; round++) {
        word.fill();
        treatment.treat(memory);
        if (treatment.drops)
            word.forget();
        REQUIRE(event.enable() == succeeds(1));
        CHECK(word.follows(true));
        CHECK(word.neighbours_are_kept());
        word.fill();
        treatment.treat(memory);
        if (treatment.drops)
            word.forget();
        REQUIRE(event.disable() == succeeds(1));
        CHECK(word.follows(false));
        CHECK(word.neighbours_are_kept());
    }
}

} // namespace

TEST_CASE("The bit is right at once in private memory, whatever is done to it") {
    const Event event(unique_name("private"));
    Mapping memory(1);
    Guarded word(memory.at(), event);
    for (const Treatment& treatment : treatments())
        check_that_it_follows(event, memory, word, treatment);
    CHECK(word.unregister() == succeeds());
}

TEST_CASE("The bit is right at once in shared memory, whatever is done to it") {
    const Event event(unique_name("shared"));
    const MemoryFile file(1);
    const bool of_a_file = GENERATE(false, true);
    CAPTURE(of_a_file);
    Mapping memory(1, PROT_READ | PROT_WRITE, MAP_SHARED | (of_a_file ? 0 : MAP_ANONYMOUS),
                   of_a_file ? file.descriptor() : -1);
    Guarded word(memory.at(), event);
    for (Treatment treatment : treatments()) {
        // What is given back is still in the file.
        treatment.drops = false;
        check_that_it_follows(event, memory, word, treatment);
    }
    check_that_it_follows(event, memory, word,
                          {"a hole in the file",
                           [](const Mapping& shared) { must_advise(shared, MADV_REMOVE); }, true});
    CHECK(word.unregister() == succeeds());
}

TEST_CASE("The bit is right at once in what is written back to a device, and comes to be there") {
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
        treatment.drops = false;
        check_that_it_follows(event, memory, word, treatment);
    }
    check_that_it_follows(event, memory, word, {"written back", write_back});

    // Each change makes the page one that is to be written back once more.
    const Mapping there(1, PROT_READ, MAP_SHARED, stored.number());
    const auto is_there = [&] { return memcmp(there.at(), memory.at(), page_size) == 0; };
    for (int round = 0; round < 3; round++) {
        write_back(memory);
        REQUIRE(is_there());
        REQUIRE(event.enable() == succeeds(1));
        CHECK(word.follows(true));
        CHECK_FALSE(is_there());
        write_back(memory);
        CHECK(is_there());
        REQUIRE(event.disable() == succeeds(1));
        CHECK(word.follows(false));
        write_back(memory);
        CHECK(is_there());
    }

    // It is right as well where both happen at the same time.
    std::atomic<bool> stop{false};
    std::jthread writing_back([&] {
        while (!stop)
            write_back(memory);
    });
    unsigned wrong = 0;
    for (unsigned round = 0; round < fewer(40, 10); round++) {
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

TEST_CASE("The bit is right at once in a private mapping of a file, which stays as it is") {
    const Event event(unique_name("private_file"));
    const MemoryFile file(1);
    {
        Mapping memory = file.map(1, MAP_PRIVATE);
        Guarded word(memory.at(), event);
        for (const Treatment& treatment : treatments())
            check_that_it_follows(event, memory, word, treatment);
    }
    for (std::size_t offset = 0; offset < page_size; offset += sizeof(Word))
        if (file.word(offset) != 0)
            FAIL("the file has changed at " << offset);
    SUCCEED();
}

TEST_CASE("Memory that is given back lazily keeps the bit, or is zero but for it") {
    const Event event(unique_name("lazily"));
    // What another CPU has taken up is not put aside.
    const OnCpu cpu(0);
    Mapping memory(1);
    Guarded word(memory.at(), event);
    word.fill();
    must_advise(memory, MADV_FREE);
    // Takes away what is free.
    REQUIRE(eventually([&] {
        must_advise(memory, MADV_PAGEOUT);
        return !is_present(memory.at());
    }));
    word.forget();
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word.follows(true));
    CHECK(word.neighbours_are_kept());

    word.fill();
    must_advise(memory, MADV_FREE);
    // Written to, by the kernel, it is not free any more.
    REQUIRE(event.disable() == succeeds(1));
    must_advise(memory, MADV_PAGEOUT);
    CHECK(word.follows(false));
    CHECK(word.neighbours_are_kept());
}

TEST_CASE("Memory that the kernel looks through for what to reclaim can be registered") {
    const Event event(unique_name("reclaim"));
    Word other{0};
    DataFile file;
    REQUIRE(file.register_event(&other, 0, event.name()) == succeeds());
    const Enabled enabled{event};
    Mapping memory(1);
    Word& word = *memory.at<Word>();
    std::atomic<unsigned> looks{0};
    // On one CPU, where whoever looks is interrupted, also with the page locked.
    const OnCpu cpu(0);
    std::jthread reclaiming([&](const std::stop_token& stop) {
        // Without swap space the page stays.
        for (; !stop.stop_requested(); looks++)
            must_advise(memory, MADV_PAGEOUT);
    });
    unsigned wrong = 0;
    for (Rounds rounds(500, 20000, std::chrono::seconds(2)); rounds.next();) {
        // A new page, which is not dirty yet.
        must_advise(memory, MADV_DONTNEED);
        word = 0;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        const Outcome registered = file.register_event(&word, 0, event.name());
        wrong += registered != succeeds() || word != 1;
        file.unregister(&word, 0);
    }
    CHECK(wrong == 0);
    CHECK(looks > 0);
}

TEST_CASE("The bit is right at once in memory that has been swapped out") {
    const SwapSpace swap(64);
    const Event event(unique_name("swapped"));
    const int kind = GENERATE(MAP_PRIVATE, MAP_SHARED);
    CAPTURE(kind == MAP_SHARED);
    Mapping memory(1, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS);
    Guarded word(memory.at(), event);
    // Shared memory has no entry of its own for what is in swap space.
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

TEST_CASE("The bit is right at once in a transparent huge page") {
    const Event event(unique_name("huge"));
    Mapping memory(2 * huge_size / page_size);
    std::byte* const huge = huge_part(memory);
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
        check_that_it_follows(event, memory, word, treatment);
        *huge = std::byte{1};
    }
    CHECK(word.unregister() == succeeds());
}

TEST_CASE("The bit is right at once in memory of hugetlbfs") {
    const HugePages huge_pages(6);
    const Event event(unique_name("hugetlb"));
    const int kind = GENERATE(MAP_PRIVATE, MAP_SHARED);
    CAPTURE(kind == MAP_SHARED);
    Mapping memory(huge_size / page_size, PROT_READ | PROT_WRITE,
                   kind | MAP_ANONYMOUS | MAP_HUGETLB);
    Guarded word(memory.at() + huge_size / 2, event);
    for (Treatment treatment : treatments()) {
        // That is not for them.
        if (treatment.name == std::string_view("cold"))
            continue;
        treatment.drops = treatment.drops && kind == MAP_PRIVATE;
        check_that_it_follows(event, memory, word, treatment);
    }
    CHECK(word.unregister() == succeeds());
}

TEST_CASE("The bit is right at once in a page merged with others, which stay as they are") {
    const std::string ksm = "/sys/kernel/mm/ksm/";
    const auto shared = [&] { return std::stoul(read_text(ksm + "pages_sharing")); };
    const Event event(unique_name("merged"));
    constexpr std::size_t pages = 8;
    Mapping memory(pages);
    std::fill_n(memory.at(), memory.size(), std::byte{0x81});
    Guarded word(memory.at(), event);
    word.fill();
    // Alike in all pages.
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
    // Taken apart again.
    run.set("2");
}

TEST_CASE("A file that is cut short and grown again has the bit from the next change on") {
    const Event event(unique_name("cut"));
    const int kind = GENERATE(MAP_PRIVATE, MAP_SHARED);
    CAPTURE(kind == MAP_SHARED);
    MemoryFile file(2);
    Mapping memory = file.map(2, kind);
    Guarded kept(memory.at(), event), cut(memory.at(page_size), event);
    kept.fill();
    file.resize(1);
    REQUIRE(event.enable() == succeeds(1));
    CHECK(kept.follows(true));
    file.resize(2);
    CHECK(stays_clear(cut));
    CHECK(cut.neighbours_are_kept());
    REQUIRE(event.disable() == succeeds(1));
    REQUIRE(event.enable() == succeeds(1));
    CHECK(cut.follows(true));
    CHECK(kept.follows(true));
    CHECK(kept.neighbours_are_kept());

    file.resize(1);
    CHECK(cut.unregister() == fails(EFAULT));
    file.resize(2);
    // The file has grown by zeros; the registration is gone.
    REQUIRE(event.disable() == succeeds(1));
    REQUIRE(event.enable() == succeeds(1));
    CHECK_FALSE(cut.is_set());
    CHECK(cut.unregister() == fails(ENOENT));
    REQUIRE(event.disable() == succeeds(1));
}

TEST_CASE("Memory that is unmapped is passed over, and what is mapped anew there follows") {
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
    CHECK(stays_clear(word));
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
    word.forget();
    REQUIRE(event.disable() == succeeds(1));
    REQUIRE(event.enable() == succeeds(1));
    CHECK_FALSE(word.is_set());
    CHECK(word.neighbours_are_kept());
    REQUIRE(event.disable() == succeeds(1));
}

TEST_CASE("Memory that is moved away is not written any more") {
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
    // Its place is registered as ever.
    CHECK(word.unregister() == fails(EFAULT));
    CHECK(std::equal(before.begin(), before.end(), target.at()));
    event.disable();
}

TEST_CASE("Memory that is moved and left behind follows where it was registered") {
    const Event event(unique_name("left"));
    Mapping memory(1), target(1);
    Guarded word(memory.at(), event);
    word.fill();
    REQUIRE(mremap(memory.at(), page_size, page_size,
                   MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, target.at()) == target.at());
    word.forget();
    Enabled enabled{event};
    CHECK(word.follows(true));
    CHECK(word.neighbours_are_kept());
    CHECK((target.at<Word>(page_size - 2 * sizeof(Word))->load() & 1u << Guarded::bit) == 0);
}

TEST_CASE("A page of a file is not written once the program has unmapped it") {
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

TEST_CASE("A file that is sealed against writing is not written") {
    const Event event(unique_name("sealed"));
    MemoryFile file(1);
    SECTION("not even by REG through a mapping that can't be written") {
        REQUIRE(file.seal(F_SEAL_WRITE) == succeeds());
        const Mapping memory = file.map(1, MAP_SHARED, PROT_READ);
        DataFile data;
        CHECK(data.register_event(memory.at(), 0, event.name()) == fails(EFAULT));
    }
    SECTION("by a private copy") {
        REQUIRE(file.seal(F_SEAL_WRITE) == succeeds());
        const Mapping memory = file.map(1, MAP_PRIVATE);
        Guarded word(memory.at(), event);
        const Enabled enabled{event};
        CHECK(word.follows(true));
    }
    SECTION("after it was registered and unmapped") {
        Mapping memory = file.map(1, MAP_SHARED);
        Guarded word(memory.at(), event);
        CHECK(file.seal(F_SEAL_WRITE) == fails(EBUSY));
        memory.unmap();
        // The kernel has let go of the page: nothing hinders the seal.
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

TEST_CASE("A file sealed against future writing is written by those who could before") {
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

// Faults are for the worker of the address space: who changes the state holds what others wait for.
TEST_CASE("A change of state takes no fault in huge pages") {
    const bool absent = GENERATE(true, false);
    CAPTURE(absent);
    const HugePages huge_pages(2);
    const Event event(unique_name("hugetlb")), fault(unique_name("fault"), "selftests");
    const Definition probe("kprobe_events", "p:selftests/" + fault.name() + " hugetlb_fault",
                           "-:selftests/" + fault.name());
    Mapping memory(huge_size / page_size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB);
    Guarded word(memory.at(), event);
    Instance instance;
    REQUIRE(instance.enable(fault) == succeeds());
    std::optional<Child> child;
    if (absent)
        must_advise(memory, MADV_DONTNEED);
    else
        child.emplace([](Channel& channel) -> int { return channel.receive<char>(); });
    REQUIRE(event.enable() == succeeds(1));
    // Who looks at a page that is absent takes a fault himself.
    CHECK(eventually([&] { return is_present(&word.word()) && word.is_set(); }));
    REQUIRE(instance.disable(fault) == succeeds());

    unsigned faults = 0, ours = 0;
    for (const std::string& line : lines_of(read_text(instance.path("trace")))) {
        faults += line.find(" " + fault.name() + ":") != std::string::npos;
        ours += line.find("-" + std::to_string(gettid()) + " ") != std::string::npos;
    }
    CHECK(faults > 0);
    CHECK(ours == 0);
    if (child) {
        child->channel().send('\0');
        CHECK(child->wait() == 0);
    }
    REQUIRE(event.disable() == succeeds(1));
    CHECK(word.unregister() == succeeds());
}
