# SPDX-License-Identifier: GPL-2.0-only
"""Writes files of perf, as tools/perf/Documentation/perf.data-file-format.txt describes them: to a file, or as
`perf record -o -` does to a pipe. The events have names and raw data of any kind."""
import struct

IP, TID, TIME, CPU, RAW = 1, 2, 4, 0x80, 0x400
SAMPLE, ATTR, FINISHED_ROUND, FEATURE = 9, 64, 68, 80
EVENT_DESC, CLOCK_DATA = 12, 29
CLOCK_MONOTONIC = 1


def record(kind, data):
    return struct.pack("<IHH", kind, 2 if kind == SAMPLE else 0, 8 + len(data)) + data


class PerfData:
    """`clock` is a time of day and the time of the records' clock then, in nanoseconds."""

    def __init__(self, event="user_events:MyProvider_L4K1", clock=None, has_times=True, more=b"", attr_size=112):
        kinds = IP | TID | CPU | RAW | (TIME if has_times else 0)
        # A software event that never happens; it has samples of all CPUs.
        self.attr = struct.pack("<IIQQQQQ", 1, attr_size, 9, 1, kinds, 0, 1 << 18 | (1 << 25 if clock else 0))
        self.attr += bytes(44) + struct.pack("<i", CLOCK_MONOTONIC if clock else 0) + bytes(attr_size - len(self.attr) - 48)
        name = event.encode() + bytes(64 - len(event))
        description = struct.pack("<II", 1, attr_size) + self.attr + struct.pack("<II", 0, len(name)) + name
        self.features = {EVENT_DESC: description}
        if clock:
            self.features[CLOCK_DATA] = struct.pack("<IIQQ", 1, CLOCK_MONOTONIC, *clock)
        self.has_times = has_times
        self.records = more

    def sample(self, time, payload, pid=7, cpu=0):
        """As the kernel: the size of the raw data and the data, padded together to 8 bytes."""
        raw = struct.pack("<HBBi", 1, 0, 0, pid) + payload
        raw += bytes(-(len(raw) + 4) % 8)
        self.records += record(SAMPLE, struct.pack("<QII", 0, pid, pid) + (struct.pack("<Q", time) if self.has_times else b"") +
                               struct.pack("<III", cpu, 0, len(raw)) + raw)

    def pipe(self):
        features = b"".join(record(FEATURE, struct.pack("<Q", number) + data) for number, data in self.features.items())
        return (b"PERFILE2" + struct.pack("<Q", 16) + record(ATTR, self.attr) + features + self.records +
                record(FINISHED_ROUND, b""))

    def file(self):
        attrs = 104
        data = attrs + len(self.attr) + 16
        bits = sum(1 << number for number in self.features)
        result = b"PERFILE2" + struct.pack("<8Q", 104, len(self.attr) + 16, attrs, len(self.attr) + 16, data,
                                           len(self.records), 0, 0)
        result += struct.pack("<Q", bits) + bytes(24) + self.attr + struct.pack("<QQ", 0, 0) + self.records
        offset = len(result) + 16 * len(self.features)
        for _, each in sorted(self.features.items()):
            result += struct.pack("<QQ", offset, len(each))
            offset += len(each)
        return result + b"".join(each for _, each in sorted(self.features.items()))
