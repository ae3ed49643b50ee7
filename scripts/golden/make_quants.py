#!/usr/bin/env python3
"""Writes tests/golden/quants.json: blocks of every quantised type, and the floats they stand for.

  scripts/golden/make_quants.py GGML_COMMON_H

Decodes with integers and doubles, in which every product and sum is exact (and a zero has its sign),
each type straight from its layout, in the style of a specification and not of our C++. GGML_COMMON_H is ggml/src/ggml-common.h of any llama.cpp: the
tables of the IQ types are read from it, so that ours are compared with their origin.

{"types": [{"type", "blocks": hex of two blocks, "first": the first 16 values,
            "fnv1a64": of all values' bytes, little-endian F32}]}
"""
import json
import pathlib
import re
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
IQ4 = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]


def mix(x):
    mask = (1 << 64) - 1
    z = (x + 0x9E3779B97F4A7C15) & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return z ^ z >> 31


def fnv1a64(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return value


class Bits:
    """The block as one number: bits(at_byte, bit, count)."""

    def __init__(self, block):
        self.block = block

    def bits(self, byte, bit, count):
        return int.from_bytes(self.block[byte:], "little") >> bit & ((1 << count) - 1)

    def half(self, byte):
        return struct.unpack("<e", self.block[byte:byte + 2])[0]


def grid_reader(path):
    source = pathlib.Path(path).read_text()

    def table(name, lanes):
        body = re.search(r"GGML_TABLE_BEGIN\(\w+, %s, \w+\)(.*?)GGML_TABLE_END" % name, source, re.S)
        words = [int(word, 16) for word in re.findall(r"0x[0-9a-f]+", body.group(1))]
        return [[word >> 8 * lane & 255 for lane in range(lanes)] for word in words]

    return table


def small(scales, quants, fifth=None, offset=0, bias=0):
    """Blocks of 32: d at `scales`, nibbles at `quants`, fifth bits, m at `bias`."""
    def decode(b):
        values = []
        for i in range(32):
            q = b.bits(quants + i % 16, 4 * (i // 16), 4)
            if fifth is not None:
                q += 16 * b.bits(fifth, i, 1)
            values.append(b.half(scales) * (q - offset) + (b.half(bias) if bias else -0.0))
        return values
    return decode


def q8_0(b):
    return [b.half(0) * (((b.bits(2 + i, 0, 8) + 128) % 256) - 128) for i in range(32)]


def six_bit_pair(b, group):
    """(scale, minimum) of Q4_K and Q5_K."""
    if group < 4:
        return b.bits(4 + group, 0, 6), b.bits(8 + group, 0, 6)
    g = group - 4
    return (b.bits(12 + g, 0, 4) + 16 * b.bits(4 + g, 6, 2),
            b.bits(12 + g, 4, 4) + 16 * b.bits(8 + g, 6, 2))


def q2_k(b):
    values = []
    for i in range(256):
        half, rest = divmod(i, 128)
        q = b.bits(16 + 32 * half + rest % 32, 2 * (rest // 32), 2)
        values.append(b.half(80) * b.bits(i // 16, 0, 4) * q - b.half(82) * b.bits(i // 16, 4, 4))
    return values


def q3_k(b):
    # As llama.cpp writes it: four words of four scales each.
    a0, a1, high = (b.bits(96 + 4 * k, 0, 32) for k in range(3))
    low4, two = 0x0F0F0F0F, 0x03030303
    words = [(a0 & low4) | (high & two) << 4, (a1 & low4) | (high >> 2 & two) << 4,
             (a0 >> 4 & low4) | (high >> 4 & two) << 4, (a1 >> 4 & low4) | (high >> 6 & two) << 4]
    scales = [word >> 8 * k & 255 for word in words for k in range(4)]
    values = []
    for i in range(256):
        half, rest = divmod(i, 128)
        q = b.bits(32 + 32 * half + rest % 32, 2 * (rest // 32), 2)
        q -= 0 if b.bits(i % 32, i // 32, 1) else 4
        values.append(b.half(108) * (scales[i // 16] - 32) * q)
    return values


def q45_k(quants, fifth):
    def decode(b):
        values = []
        for i in range(256):
            group, at = divmod(i, 32)
            scale, minimum = six_bit_pair(b, group)
            q = b.bits(quants + 32 * (group // 2) + at, 4 * (group % 2), 4)
            if fifth:
                q += 16 * b.bits(fifth + at, group, 1)
            values.append(b.half(0) * scale * q - b.half(2) * minimum)
        return values
    return decode


def q6_k(b):
    values = [0] * 256
    for n in (0, 1):
        for l in range(32):
            for part in range(4):
                low = b.bits(64 * n + l + 32 * (part % 2), 4 * (part // 2), 4)
                high = b.bits(128 + 32 * n + l, 2 * part, 2)
                scale = (b.bits(192 + 8 * n + l // 16 + 2 * part, 0, 8) + 128) % 256 - 128
                values[128 * n + 32 * part + l] = b.half(208) * scale * (low + 16 * high - 32)
    return values


def with_signs(scale, magnitudes, signs):
    return [scale * m * (-1 if signs >> j & 1 else 1) for j, m in enumerate(magnitudes)]


def eight_signs(seven):
    return seven | (bin(seven).count("1") % 2) << 7


def iq_decoders(table):
    iq2xxs, iq2xs, iq2s = (table(n, 8) for n in ("iq2xxs_grid", "iq2xs_grid", "iq2s_grid"))
    iq3xxs, iq3s = (table(n, 4) for n in ("iq3xxs_grid", "iq3s_grid"))
    half, quarter = 0.5, 0.25

    def iq2_xxs(b):
        values = []
        for g in range(8):
            word = b.bits(2 + 8 * g + 4, 0, 32)
            scale = b.half(0) * (half + (word >> 28)) * quarter
            for l in range(4):
                values += with_signs(scale, iq2xxs[b.bits(2 + 8 * g + l, 0, 8)],
                                     eight_signs(word >> 7 * l & 127))
        return values

    def iq2_xs(b):
        values = []
        for i in range(32):
            scale = b.half(0) * (half + b.bits(66 + i // 4, 4 * (i % 4 // 2), 4)) * quarter
            values += with_signs(scale, iq2xs[b.bits(2 + 2 * i, 0, 9)],
                                 eight_signs(b.bits(2 + 2 * i, 9, 7)))
        return values

    def iq2_s(b):
        values = []
        for i in range(32):
            scale = b.half(0) * (half + b.bits(74 + i // 4, 4 * (i % 4 // 2), 4)) * quarter
            index = b.bits(2 + i, 0, 8) + 256 * b.bits(66 + i // 4, 2 * (i % 4), 2)
            values += with_signs(scale, iq2s[index], b.bits(34 + i, 0, 8))
        return values

    def iq3_xxs(b):
        values = []
        for g in range(8):
            word = b.bits(66 + 4 * g, 0, 32)
            scale = b.half(0) * (half + (word >> 28)) * half
            for l in range(4):
                at = 2 + 8 * g + 2 * l
                values += with_signs(scale, iq3xxs[b.bits(at, 0, 8)] + iq3xxs[b.bits(at + 1, 0, 8)],
                                     eight_signs(word >> 7 * l & 127))
        return values

    def iq3_s(b):
        values = []
        for i in range(32):
            scale = b.half(0) * (1 + 2 * b.bits(106 + i // 8, 4 * (i // 4 % 2), 4))
            rows = [iq3s[b.bits(2 + k, 0, 8) + 256 * b.bits(66, k, 1)] for k in (2 * i, 2 * i + 1)]
            values += with_signs(scale, rows[0] + rows[1], b.bits(74 + i, 0, 8))
        return values

    return {"iq2_xxs": (66, (0,), iq2_xxs), "iq2_xs": (74, (0,), iq2_xs),
            "iq2_s": (82, (0,), iq2_s), "iq3_xxs": (98, (0,), iq3_xxs), "iq3_s": (110, (0,), iq3_s)}


def iq4_nl(b):
    return [b.half(0) * IQ4[b.bits(2 + i % 16, 4 * (i // 16), 4)] for i in range(32)]


def iq4_xs(b):
    values = []
    for i in range(256):
        group, at = divmod(i, 32)
        scale = b.bits(4 + group // 2, 4 * (group % 2), 4) + 16 * b.bits(2, 2 * group, 2) - 32
        values.append(b.half(0) * scale * IQ4[b.bits(8 + 16 * group + at % 16, 4 * (at // 16), 4)])
    return values


# Type: (bytes of a block, where its F16 are, how to decode it)
TYPES = {
    "q4_0": (18, (0,), small(0, 2, offset=8)),
    "q4_1": (20, (0, 2), small(0, 4, bias=2)),
    "q5_0": (22, (0,), small(0, 6, fifth=2, offset=16)),
    "q5_1": (24, (0, 2), small(0, 8, fifth=4, bias=2)),
    "q8_0": (34, (0,), q8_0),
    "q2_K": (84, (80, 82), q2_k),
    "q3_K": (110, (108,), q3_k),
    "q4_K": (144, (0, 2), q45_k(16, 0)),
    "q5_K": (176, (0, 2), q45_k(48, 16)),
    "q6_K": (210, (208,), q6_k),
    "iq4_nl": (18, (0,), iq4_nl),
    "iq4_xs": (136, (0,), iq4_xs),
}


def random_block(name, number, size, halves):
    block = bytearray(mix(fnv1a64(name.encode()) + 1000 * number + i) & 255 for i in range(size))
    for at in halves:  # A scale as in real files: 2^-13 to 2^-6, of either sign.
        block[at + 1] = block[at + 1] & 0x83 | (2 + (block[at + 1] >> 2) % 7) << 2
    return bytes(block)


def main():
    types = {**TYPES, **iq_decoders(grid_reader(sys.argv[1]))}
    rows = []
    for name, (size, halves, decode) in types.items():
        blocks = [random_block(name, number, size, halves) for number in range(2)]
        packed = b"".join(struct.pack("<f", v) for block in blocks for v in decode(Bits(block)))
        first = list(struct.unpack("<16f", packed[:64]))
        rows.append({"type": name, "blocks": b"".join(blocks).hex(), "first": first,
                     "fnv1a64": f"{fnv1a64(packed):016x}"})
    lines = ",\n".join(json.dumps(row) for row in rows)
    (ROOT / "tests/golden/quants.json").write_text('{"types": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
