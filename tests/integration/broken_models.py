#!/usr/bin/env python3
"""broken_models.py MODEL SHOAL: a language model's file, damaged in every way we know of.

MODEL is the one of the repository (zoo/bard). Each damage must end the program as broken_inputs.py
says: also weights that are no numbers, of which one would get an endless answer of rubbish.
"""
import pathlib
import struct
import sys

import broken_inputs

HUGE = 1 << 60
MODEL = pathlib.Path(sys.argv[1]).read_bytes()
KEYS_AT, TENSORS_AT = 16, 8


def after(text, data=MODEL):
    """Where the first `text` ends."""
    return data.index(text) + len(text)


def stored(*changes):
    """The model with (position, bytes) overwritten."""
    data = bytearray(MODEL)
    for at, new in changes:
        data[at:at + len(new)] = new
    return bytes(data)


def u64(value):
    return struct.pack("<Q", value)


def u32(value):
    return struct.pack("<I", value)


def replaced(old, new):
    """Of the same length, so that nothing else moves."""
    assert len(old) == len(new) and MODEL.count(old) >= 1, old
    return stored((MODEL.index(old), new))


def key(name, data):
    """A key of numbers set to `data`; its type stands between."""
    return stored((after(struct.pack("<Q", len(name)) + name) + 4, data))


def entry(name):
    """Where the list of tensors has what follows a name: axes, extents, type, offset."""
    return after(struct.pack("<Q", len(name)) + name)


def offset(name):
    (axes,) = struct.unpack_from("<I", MODEL, entry(name))
    return struct.unpack_from("<Q", MODEL, entry(name) + 4 + 8 * axes + 4)[0]


LAST = b"output_norm.weight"
LAST_EXTENT = struct.unpack_from("<q", MODEL, entry(LAST) + 4)[0]
DATA_AT = len(MODEL) - offset(LAST) - 4 * LAST_EXTENT
EMBEDDING = DATA_AT + offset(b"token_embd.weight")
QUERY, NORM = b"blk.2.attn_q.weight", b"blk.2.ffn_norm.weight"
NAN, INFINITY = b"\x00\x7e", b"\x00\x7c"  # As F16: scales of Q8_0 blocks.


def case(name, data, *names, command=("generate", "--prompt", "ROMEO:", "--tokens", "8")):
    return (name, {"m.gguf": data}, [command[0], "--model", "m.gguf", *command[1:]], ("m.gguf", *names))


def chat(name, data, *names):
    """`chat` before it is told anything: standard input is empty."""
    return case(name, data, *names, command=("chat",))


CUTS = [case(f"truncated to {size} bytes of {len(MODEL)}", MODEL[:size]) for size in
        (0, 3, 4, 20, 24, 30, 500, after(b"tokenizer.ggml.merges") + 100, after(b"blk.3.attn_k.weight"),
         DATA_AT - 1, DATA_AT, DATA_AT + 1000, len(MODEL) - 1)]

NUMBERS = [
    case("wrong magic", b"GGML" + MODEL[4:], "GGUF"),
    case("a text", b"To be, or not to be\n" * 50, "GGUF"),
    case("version 1", stored((4, u32(1))), "version 1"),
    case("big-endian", stored((4, b"\0\0\0\3")), "big-endian"),
    case("2^60 tensors", stored((TENSORS_AT, u64(HUGE))), str(HUGE)),
    case("2^60 keys", stored((KEYS_AT, u64(HUGE))), str(HUGE)),
    case("a key of 2^60 bytes", stored((24, u64(HUGE)))),
    case("2^60 tokens", stored((after(b"tokenizer.ggml.tokens") + 8, u64(HUGE))), "tokenizer.ggml.tokens"),
    case("2^60 token types", stored((after(b"tokenizer.ggml.token_type") + 8, u64(HUGE))), "token_type"),
    case("2^40 x 2^40 elements", stored((entry(QUERY) + 4, u64(1 << 40) * 2)), QUERY.decode()),
    case("2^62 x 4 elements", stored((entry(QUERY) + 4, u64(1 << 62) + u64(4))), QUERY.decode()),
    case("a negative extent", stored((entry(QUERY) + 4, u64((1 << 64) - 32))), QUERY.decode()),
    case("a tensor beyond the end", stored((entry(QUERY) + 24, u64(HUGE))), QUERY.decode()),
    case("overlapping tensors", stored((entry(QUERY) + 24, u64(0))), "overlap"),
    case("a tensor of an unknown type", stored((entry(QUERY) + 20, u32(4711))), "4711"),
    case("a matrix that is turned", stored((entry(b"blk.0.ffn_up.weight") + 4, u64(512) + u64(256))),
         "blk.0.ffn_up.weight"),
    case("a tensor that is not there", replaced(QUERY, b"blk.9.attn_q.weight"), "attn_q.weight"),
    case("2^32 - 1 layers", key(b"llama.block_count", u32(0xFFFFFFFF)), "block_count"),
    case("no layers", key(b"llama.block_count", u32(0)), "block_count"),
    case("no heads", key(b"llama.attention.head_count", u32(0)), "head_count"),
    case("heads that do not divide", key(b"llama.attention.head_count_kv", u32(3)), "3"),
    case("a context of 2^32 - 1", key(b"llama.context_length", u32(0xFFFFFFFF)), "context_length"),
    case("an epsilon that is no number", key(b"llama.attention.layer_norm_rms_epsilon", u32(0x7FC00000)), "epsilon"),
    case("a RoPE base of infinity", key(b"llama.rope.freq_base", u32(0x7F800000)), "freq_base"),
    case("an unknown architecture", replaced(u64(5) + b"llama", u64(5) + b"lemma"), "lemma"),
]

TOKENIZERS = [
    case("an unknown tokenizer", replaced(u64(4) + b"gpt2", u64(4) + b"gpt9"), "gpt9"),
    case("an unknown pre-tokenizer", replaced(u64(5) + b"gpt-2", u64(5) + b"gpt-9"), "gpt-9"),
    case("a token that is there twice", replaced(u64(7) + b"<|bos|>", u64(7) + b"<|end|>"), "<|end|>"),
    case("a merge that leads back to its own part", replaced(u64(3) + b"t h", u64(3) + b"th "), "merge"),
    case("a merge that is no token", replaced(u64(3) + b"t h", u64(3) + b"Q Z"), "merge", "QZ"),
    case("a merge without a space", replaced(u64(3) + b"t h", u64(3) + b"tah"), "merge"),
    case("a token of type 9", stored((after(b"tokenizer.ggml.token_type") + 16, u32(9))), "9"),
    case("an end beyond the vocabulary", key(b"tokenizer.ggml.eos_token_id", u32(70000)), "70000"),
    chat("a template that is not closed", replaced(b"{% endfor %}", b"{% endwas %}"), "template"),
]

WEIGHTS = [
    case("a NaN scale in a matrix", stored((DATA_AT + offset(QUERY), NAN)), "NaN"),
    case("an infinite scale in a matrix", stored((DATA_AT + offset(QUERY), INFINITY)), "NaN"),
    case("a NaN in a norm", stored((DATA_AT + offset(NORM), u32(0x7FC00000))), "NaN"),
    case("a NaN scale in the embedding of a token that was not said", stored((EMBEDDING + 1000 * 272, NAN)), "NaN"),
    case("all scales of a matrix NaN", stored(*((DATA_AT + offset(QUERY) + 34 * i, NAN) for i in range(2048))), "NaN"),
    case("NaN and the most likely token", stored((DATA_AT + offset(QUERY), NAN)), "NaN",
         command=("generate", "--prompt", "ROMEO:", "--temperature", "0", "--json")),
    case("the perplexity of NaN", stored((DATA_AT + offset(QUERY), NAN)), "NaN",
         command=("perplexity", "--file", "m.gguf", "--window", "16", "--windows", "1")),
]

if __name__ == "__main__":
    sys.exit(broken_inputs.check(sys.argv[2:], CUTS + NUMBERS + TOKENIZERS + WEIGHTS))
