# SPDX-License-Identifier: GPL-2.0-only
"""Makes what payloads that describe themselves have behind the fields of their tracepoint."""
import struct

EVENTHEADER = "u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level"


def described(description, values, name=b"Request", extension=b""):
    """What the payload of an EventHeader event has behind its header."""
    metadata = name + b"\0" + description
    return extension + struct.pack("<HH", len(metadata), 1) + metadata + values


def activity(own, related=b""):
    """An extension with activities, of 16 bytes each."""
    return struct.pack("<HH", len(own + related), 0x8002) + own + related


class Fields:
    """The fields of an EventHeader event. The functions return the object."""

    def __init__(self):
        self.description, self.values = b"", b""

    def add(self, name, encoding, form, value):
        self.description += name.encode() + b"\0" + (bytes([encoding | 0x80, form]) if form else bytes([encoding]))
        self.values += value
        return self

    def struct(self, name, count):
        return self.add(name, 1, count, b"")

    def number(self, name, code, value, form=0):
        """`code` is that of the module struct."""
        encoding = {1: 2, 2: 3, 4: 4, 8: 5}[struct.calcsize(code)]
        return self.add(name, encoding, form, struct.pack("<" + code, value))

    def text(self, name, value):
        data = value.encode()
        return self.add(name, 10, 0, struct.pack("<H", len(data)) + data)

    def wide(self, name, value):
        """Text in UTF-16."""
        data = value.encode("utf-16-le")
        return self.add(name, 11, 0, struct.pack("<H", len(data) // 2) + data)

    def payload(self, name=b"Request", extension=b""):
        return described(self.description, self.values, name, extension)


def record(recording, event, time, pid, payload, level=4, opcode=0, cpu=0):
    """Adds a record of an EventHeader event."""
    recording.buffers[0].add(cpu, time, event.pack(pid, [7, 0, 0, 0, opcode, level]) + payload)


EVENTPIPE = "u8 version; u16 event_id; __rel_loc u8[] extension; __rel_loc u8[] payload"


def wide(text):
    """Text in UTF-16 with its NUL, as .NET has it."""
    return text.encode("utf-16-le") + b"\0\0"


def metadata(number, name, fields, provider="Shop", level=4, keywords=0, opcode=0):
    """An extension with NetTrace metadata of version 5. `fields` are pairs of a name and a type."""
    data = (struct.pack("<I", 1) + wide(provider) + struct.pack("<I", number) + wide(name) +
            struct.pack("<QIII", keywords, 0, level, len(fields)))
    for field, kind in fields:
        data += struct.pack("<I", kind) + wide(field)
    if opcode:
        data += struct.pack("<IBB", 1, 1, opcode)
    return b"\x01" + struct.pack("<I", len(data)) + data


def guid(first):
    """An extension with an activity."""
    return b"\x02" + bytes([first]) * 16
