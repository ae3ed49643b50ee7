#!/usr/bin/env python3
"""A model for distributed-llama: TinyLlama's shape, random Q40 weights, and a vocabulary in which
every letter is a token, so that prompts have as many tokens as letters.

  distributed_llama_model.py DIR     writes DIR/model.m and DIR/tokenizer.t
"""

import pathlib
import random
import struct
import sys

LAYERS, DIM, HIDDEN, HEADS, KV_HEADS, VOCAB, CONTEXT = 22, 2048, 5632, 32, 4, 32000, 2048
KV_DIM = DIM // HEADS * KV_HEADS
F32, Q40 = 0, 2


def header(magic, pairs):
    data = b"".join(struct.pack("<ii", key, value) for key, value in pairs)
    return struct.pack("<ii", magic, 8 + len(data)) + data


def write_model(path):
    rng = random.Random(1)
    # A mebi of weights, which is then repeated: blocks of a scale and 32 nibbles.
    blocks = b"".join(struct.pack("<e", 0.003) + rng.randbytes(16) for _ in range(1 << 15))
    floats = struct.pack("<4096f", *(rng.uniform(-0.05, 0.05) for _ in range(4096)))
    ones = struct.pack("<f", 1.0) * DIM

    def repeated(file, sample, size):
        while size > 0:
            size -= file.write(sample[:size])

    with open(path, "wb") as file:
        # version, architecture (llama), dim, hidden, layers, heads, kv heads, experts, active
        # experts, vocabulary, context, rope theta, type of the weights
        file.write(header(0xA00ABCD, [(0, 0), (1, 0xABCD00), (2, DIM), (3, HIDDEN), (4, LAYERS),
                                      (5, HEADS), (6, KV_HEADS), (7, 0), (8, 0), (9, VOCAB),
                                      (10, CONTEXT), (12, 10000), (13, Q40)]))
        repeated(file, floats, 4 * VOCAB * DIM)
        for _ in range(LAYERS):
            for rows, columns in ((DIM, DIM), (KV_DIM, DIM), (KV_DIM, DIM), (DIM, DIM),
                                  (HIDDEN, DIM), (DIM, HIDDEN), (HIDDEN, DIM)):
                repeated(file, blocks, rows * columns // 32 * 18)
            file.write(ones)
            file.write(ones)
        file.write(ones)
        repeated(file, blocks, VOCAB * DIM // 32 * 18)


def write_tokenizer(path):
    # Special tokens are those from the first on: <s> and </s> at the end.
    tokens = [chr(ord("a") + i) for i in range(26)] + [" "]
    tokens += [f" w{i}" for i in range(len(tokens), VOCAB - 2)] + ["<s>", "</s>"]
    with open(path, "wb") as file:
        # version, vocabulary, longest token, <s>, number of tokens that end an answer, add <s>
        file.write(header(0x567124, [(0, 1), (1, VOCAB), (2, max(map(len, tokens))),
                                     (3, VOCAB - 2), (9, 1), (10, 1)]))
        file.write(struct.pack("<i", VOCAB - 1))
        for token in tokens:
            file.write(struct.pack("<fI", 0.0, len(token)) + token.encode())


def main():
    folder = pathlib.Path(sys.argv[1])
    write_model(folder / "model.m")
    write_tokenizer(folder / "tokenizer.t")


if __name__ == "__main__":
    main()
