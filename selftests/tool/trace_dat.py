# SPDX-License-Identifier: GPL-2.0-only
"""Writes recordings: trace.dat of version 6, as trace-cmd.dat.v6(5) describes it.

Tests need files that no kernel would make, and many records without a guest.
"""
import re
import struct

PAGE = 4096
PAGE_HEADER = 16

HEADER_PAGE = """\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;
"""
HEADER_EVENT = """# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
"""
COMMON = """\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

"""
# The letters of the module struct.
NUMBERS = {"u8": "B", "s8": "b", "u16": "H", "s16": "h", "u32": "I", "s32": "i",
           "int": "i", "u64": "Q", "s64": "q", "pid_t": "i", "unsigned long": "Q", "const char *": "Q",
           "struct f64": "d", "struct f32": "f"}


class Event:
    """An event. Its fields are as for the kernel's file: "u32 count; char name[16]"."""

    def __init__(self, number, name, fields="", system="user_events", shown_as=None):
        self.number, self.name, self.system, self.fields = number, name, system, []
        lines, shown, values, offset = [], [], [], 8
        for text in filter(None, (part.strip() for part in fields.split(";"))):
            size_given = re.fullmatch(r"(struct \S+) (\S+) (\d+)", text)
            array = re.fullmatch(r"(.*) (\S+)\[(\d+)\]", text)
            location = re.fullmatch(r"(__(?:data|rel)_loc) (.*\[\]) (\S+)", text)
            rest = re.fullmatch(r"(.*) (\S+)\[\]", text)
            if size_given:
                kind, field = size_given[1], size_given[2]
                size = int(size_given[3])
            elif location:
                kind, field, size = location[1], location[3], 4
            elif rest:
                kind, field, size = "rest", rest[2], 0
            elif array:
                kind, field, size = "array", array[2], int(array[3])
                element = NUMBERS.get(array[1].strip())
                size *= struct.calcsize(element) if element else 1
            else:
                kind, field = text.rsplit(" ", 1)
                size = 1 if kind == "char" else struct.calcsize(NUMBERS[kind])
            declared = f"{size_given[1]} {field}" if size_given else text
            signed = int(kind[0] not in "u_")
            lines.append(f"\tfield:{declared};\toffset:{offset};\tsize:{size};"
                         f"\tsigned:{signed};\n")
            printed = re.sub(r"[^\w]", "_", field)
            if location:
                get = "__get_str" if kind == "__data_loc" else "__get_rel_str"
                shown.append(f"{printed}=%s")
                values.append(f"{get}({field})")
            else:
                shown.append(f"{printed}=%" + ("s" if kind == "array" else
                                               "lld" if signed else "llu"))
                values.append(f"REC->{field}")
            self.fields.append((kind, field, offset, size))
            offset += size
        self.size = offset
        arguments = "".join(", " + value for value in values)
        self.format = (f"name: {name}\nID: {number}\nformat:\n{COMMON}{''.join(lines)}\n"
                       f"print fmt: " + (shown_as or f"\"{' '.join(shown)}\"{arguments}") + "\n"
                       ).encode(errors="surrogateescape")

    def pack(self, pid, values):
        """The record's bytes. Text and bytes are given as bytes."""
        fixed = bytearray(self.size)
        struct.pack_into("<HBBi", fixed, 0, self.number, 0, 0, pid)
        tail = bytearray()
        for (kind, field, offset, size), value in zip(self.fields, values, strict=True):
            if kind == "rest":
                tail += value
            elif kind in ("__data_loc", "__rel_loc"):
                start = self.size + len(tail) - (offset + 4 if kind == "__rel_loc" else 0)
                struct.pack_into("<I", fixed, offset, len(value) << 16 | start)
                tail += value
            elif kind in NUMBERS and not isinstance(value, bytes):
                struct.pack_into("<" + NUMBERS[kind], fixed, offset, value)
            else:
                fixed[offset:offset + size] = value.ljust(size, b"\0")[:size]
        return bytes(fixed + tail)


class Buffer:
    """The pages of each CPU of an instance."""

    def __init__(self, name, cpus):
        self.name = name
        self.pages = [bytearray() for _ in range(cpus)]
        self.page = [None] * cpus
        self.time = [0] * cpus
        self.lost = [0] * cpus
        # Where Recording.bytes() has put the table of the pages' places and sizes.
        self.table = None

    def finish_page(self, cpu):
        if self.page[cpu] is None:
            return
        start, content = self.page[cpu]
        # Two flags say that records are missing before the page, and that their number is
        # behind the content.
        flags = 3 << 30 if self.lost[cpu] else 0
        page = struct.pack("<QQ", start, len(content) | flags) + content
        if self.lost[cpu]:
            page += struct.pack("<Q", self.lost[cpu])
        self.lost[cpu] = 0
        self.pages[cpu] += page.ljust(PAGE, b"\0")
        self.page[cpu] = None

    def add(self, cpu, time, data):
        data += bytes(-len(data) % 4)
        if len(data) <= 112:
            entry_size, length = 4 + len(data), b""
        else:
            entry_size, length = 8 + len(data), struct.pack("<I", len(data) + 4)
        if self.page[cpu] is not None:
            delta = time - self.time[cpu]
            extend = 8 if delta >> 27 else 0
            if len(self.page[cpu][1]) + extend + entry_size > PAGE - PAGE_HEADER:
                self.finish_page(cpu)
        if self.page[cpu] is None:
            self.page[cpu], delta = (time, bytearray()), 0
        content = self.page[cpu][1]
        if delta >> 27:
            content += struct.pack("<II", 30 | (delta & 0x7ffffff) << 5, delta >> 27)
            delta = 0
        content += struct.pack("<I", (0 if length else len(data) // 4) | delta << 5)
        content += length + data
        self.time[cpu] = time

    def lose(self, cpu, number):
        """The next page begins after this number of lost records."""
        self.finish_page(cpu)
        self.lost[cpu] = number


class Recording:
    def __init__(self, cpus=2, date=None):
        self.cpus, self.date = cpus, date
        self.events, self.tasks, self.buffers = [], {}, [Buffer("", cpus)]
        self.options, self.threads, self.sampled, self.frames = [], [], [], []
        # As in trace_clock.
        self.clock = b""
        # As in /proc/kallsyms, and in tracefs' printk_formats.
        self.functions = self.formats = b""

    def event(self, name, fields="", system="user_events", shown_as=None):
        self.events.append(Event(1000 + len(self.events), name, fields, system, shown_as))
        return self.events[-1]

    def instance(self, name):
        self.buffers.append(Buffer(name, self.cpus))
        return self.buffers[-1]

    def task(self, pid, name):
        self.tasks[pid] = name

    def thread(self, pid, process, name):
        """An entry of the list that `user-events record` writes."""
        self.threads.append(f"{pid} {process} {name}\n")

    def sample(self, *words):
        """A line of the list that `user-events snapshot` writes: system, event, and N of sample=1/N."""
        self.sampled.append(" ".join(map(str, words)) + "\n")

    def machine(self, host, boot="", first=0, last=0):
        """The machine, and what the distances of its clocks were at both ends, in nanoseconds."""
        self.options.append((5, f"Linux {host} 6.12 x86_64\0".encode()))
        if boot:
            self.options.append((2, "\nboot, clock at first, clock at last:\n"
                                    f"{boot} {first} {last}\n\0".encode()))

    def frame(self, process, since, address, function):
        """A line of the list that `user-events record --stack user` writes."""
        self.frames.append(f"{process} {since} {address:x} {function}\n")

    def record(self, cpu, time, pid, event, *values, buffer=None):
        (buffer or self.buffers[0]).add(cpu, time, event.pack(pid, values))

    def _describe(self):
        """All up to the options."""
        out = bytearray(b"\x17\x08\x44tracing6\0\0\x08" + struct.pack("<I", PAGE))
        for name, text in ((b"header_page", HEADER_PAGE), (b"header_event", HEADER_EVENT)):
            out += name + b"\0" + struct.pack("<Q", len(text)) + text.encode()
        out += struct.pack("<I", 0)
        systems = {}
        for event in self.events:
            systems.setdefault(event.system, []).append(event)
        out += struct.pack("<I", len(systems))
        for system, events in systems.items():
            out += system.encode() + b"\0" + struct.pack("<I", len(events))
            for event in events:
                out += struct.pack("<Q", len(event.format)) + event.format
        out += struct.pack("<I", len(self.functions)) + self.functions
        out += struct.pack("<I", len(self.formats)) + self.formats
        tasks = b"".join(b"%d %s\n" % (pid, name if isinstance(name, bytes) else name.encode())
                         for pid, name in self.tasks.items())
        out += struct.pack("<Q", len(tasks)) + tasks + struct.pack("<I", self.cpus)
        return out

    def bytes(self):
        out = self._describe()
        out += b"options  \0"
        options = list(self.options)
        if self.date is not None:
            options.append((1, b"%#x\0" % self.date))
        lists = (("thread process name", self.threads), ("system event one record of", self.sampled),
                 ("process since address function", self.frames))
        if self.clock:
            options.append((4, b""))
        appended = "".join(f"\n{title}:\n" + "".join(of) for title, of in lists if of)
        if appended:
            options.append((2, b"CPU: 0\nentries: 0\n\0"))
            options.append((2, appended.encode() + b"\0"))
        for option, data in options:
            out += struct.pack("<HI", option, len(data)) + data
        places = []
        for buffer in self.buffers[1:]:
            name = buffer.name.encode() + b"\0"
            out += struct.pack("<HI", 3, 8 + len(name))
            places.append(len(out))
            out += bytes(8) + name
        out += struct.pack("<H", 0)
        for i, buffer in enumerate(self.buffers):
            if i > 0:
                struct.pack_into("<Q", out, places[i - 1], len(out))
            out += b"flyrecord\0"
            buffer.table = len(out)
            out += bytes(16 * self.cpus)
            if i == 0 and self.clock:
                out += struct.pack("<Q", len(self.clock)) + self.clock
            for cpu in range(self.cpus):
                buffer.finish_page(cpu)
                out += bytes(-len(out) % PAGE)
                struct.pack_into("<QQ", out, buffer.table + 16 * cpu, len(out),
                                 len(buffer.pages[cpu]))
                out += buffer.pages[cpu]
        return bytes(out)

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.bytes())

    def write_repeated(self, path, times, hole):
        """Writes the pages of the only CPU several times, and then a hole of so many bytes. For a
        recording without instances."""
        content, table = self.bytes(), self.buffers[0].table
        first, size = struct.unpack_from("<QQ", content, table)
        head = bytearray(content[:first])
        struct.pack_into("<QQ", head, table, first, size * times + hole)
        with open(path, "wb") as file:
            file.write(head + content[first:first + size] * times)
            file.truncate(first + size * times + hole)
