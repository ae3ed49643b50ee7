#!/usr/bin/env python3
"""Writes tests/golden/hf: tiny llama checkpoints as GPTQ and AWQ have them, and their logits.

  scripts/golden/make_hf.py

Needs numpy only. Every checkpoint is random F16 weights, rounded to 4 bits and packed by the words
of AutoGPTQ's and AutoAWQ's formats, not by our C++. The logits are those of the weights that the
packed integers stand for, computed with doubles; like our engine, the residual stream after each
layer and the keys and values are rounded to F16.

logits.json: {"tokens": [...], "models": {NAME: logits after each token, one after the other}}
"""
import json
import math
import pathlib
import struct

import numpy as np

OUT = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "golden" / "hf"
DIM, HEADS, KV_HEADS, HEAD_DIM, FF, VOCAB, EPS, BASE = 32, 2, 1, 16, 256, 16, 1e-5, 10000.0
TOKENS = [1, 7, 3, 3, 12, 0, 15, 9]
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]
# Name: method, group (-1: all inputs), sym, desc_act, checkpoint_format.
MODELS = {
    "gptq_g32_sym": ("gptq", 32, True, False, "gptq"),
    "gptq_g128": ("gptq", 128, False, False, "gptq"),
    "gptq_g32_act": ("gptq", 32, False, True, "gptq"),
    "gptq_g128_act_v2": ("gptq", 128, False, True, "gptq_v2"),
    "gptq_all_sym_v2": ("gptq", -1, True, False, "gptq_v2"),
    "awq_g32": ("awq", 32, False, False, None),
    "awq_g128": ("awq", 128, False, False, None),
}


def f16(x):
    return np.asarray(x).astype(np.float16).astype(np.float64)


def quantize(w, group_of, groups, sym):
    """q [k, n], zero [g, n] and F16 scale [g, n] of w [k, n]."""
    k, n = w.shape
    q = np.zeros((k, n), np.uint32)
    zero = np.zeros((groups, n), np.uint32)
    scale = np.zeros((groups, n), np.float16)
    for g in range(groups):
        part = w[group_of == g]
        low, high = np.minimum(part.min(0), 0), np.maximum(part.max(0), 0)
        if sym:
            s = np.maximum(-low, high) / 7.5
            z = np.full(n, 8)
        else:
            s = (high - low) / 15
            # A zero of 0 cannot be written in GPTQ's first format.
            z = np.clip(np.round(-low / s), 1, 15)
        scale[g] = s
        zero[g] = z
        s = scale[g].astype(np.float64)
        q[group_of == g] = np.clip(np.round(part / s) + z, 0, 15)
    return q, zero, scale


def pack_rows(x):
    """Eight rows to a word, the first lowest."""
    out = np.zeros((x.shape[0] // 8, x.shape[1]), np.uint32)
    for i in range(8):
        out |= x[i::8] << np.uint32(4 * i)
    return out.astype(np.int32)


def pack_columns(x, order):
    out = np.zeros((x.shape[0], x.shape[1] // 8), np.uint32)
    for i in range(8):
        out |= x[:, order[i]::8] << np.uint32(4 * i)
    return out.astype(np.int32)


def linear(tensors, name, w, spec, rng):
    """Packs w [out, in] under `name`; returns what the packed weights stand for."""
    method, group, sym, desc_act, version = spec
    k = w.shape[1]
    group = k if group == -1 else group
    groups = math.ceil(k / group)
    group_of = np.arange(k) // group
    if desc_act:
        group_of = group_of[rng.permutation(k)]
    q, zero, scale = quantize(w.T.astype(np.float64), group_of, groups, sym)
    if method == "gptq":
        tensors[name + ".qweight"] = pack_rows(q)
        stored = zero - 1 if version == "gptq" else zero
        tensors[name + ".qzeros"] = pack_columns(stored, range(8))
        tensors[name + ".g_idx"] = group_of.astype(np.int32)
    else:
        tensors[name + ".qweight"] = pack_columns(q, AWQ_ORDER)
        tensors[name + ".qzeros"] = pack_columns(zero, AWQ_ORDER)
    tensors[name + ".scales"] = scale
    s, z = scale.astype(np.float64)[group_of], zero.astype(np.float64)[group_of]
    return (s * (q - z)).T


def norm(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * w


def rotate(x):
    """[tokens, heads, HEAD_DIM]: numbers i and i + HEAD_DIM / 2 are turned together."""
    half = HEAD_DIM // 2
    angle = np.arange(len(x))[:, None, None] * BASE ** (-2 * np.arange(half) / HEAD_DIM)
    a, b = x[..., :half], x[..., half:]
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def logits_of(w):
    x = f16(w["embed"])[TOKENS]
    n = len(TOKENS)
    h = norm(x, w["norm1"])
    q = rotate((h @ w["q"].T).reshape(n, HEADS, HEAD_DIM))
    k = f16(rotate((h @ w["k"].T).reshape(n, KV_HEADS, HEAD_DIM)))
    v = f16((h @ w["v"].T).reshape(n, KV_HEADS, HEAD_DIM))
    out = np.zeros((n, HEADS, HEAD_DIM))
    for head in range(HEADS):
        kv = head * KV_HEADS // HEADS
        score = q[:, head] @ k[:, kv].T / math.sqrt(HEAD_DIM)
        score[np.triu_indices(n, 1)] = -np.inf
        p = np.exp(score - score.max(-1, keepdims=True))
        out[:, head] = p / p.sum(-1, keepdims=True) @ v[:, kv]
    x = x + out.reshape(n, -1) @ w["o"].T
    h = norm(x, w["norm2"])
    gate = h @ w["gate"].T
    x = f16(x + (gate / (1 + np.exp(-gate)) * (h @ w["up"].T)) @ w["down"].T)
    return norm(x, w["norm"]) @ w["embed"].T


def write_safetensors(path, tensors):
    types = {"float16": "F16", "int32": "I32"}
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, value in tensors.items():
        end = len(data) + value.nbytes
        header[name] = {"dtype": types[str(value.dtype)], "shape": list(value.shape),
                        "data_offsets": [len(data), end]}
        data += value.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make_model(name, spec, rng):
    method, group, sym, desc_act, version = spec
    tensors, w = {}, {}

    def plain(short, long, value):
        tensors[long] = value.astype(np.float16)
        w[short] = tensors[long].astype(np.float64)

    layer = "model.layers.0."
    plain("embed", "model.embed_tokens.weight", rng.normal(0, 0.5, (VOCAB, DIM)))
    plain("norm", "model.norm.weight", rng.uniform(0.5, 1.0, DIM))
    plain("norm1", layer + "input_layernorm.weight", rng.uniform(0.5, 1.0, DIM))
    plain("norm2", layer + "post_attention_layernorm.weight", rng.uniform(0.5, 1.0, DIM))
    shapes = {"self_attn.q": (HEADS * HEAD_DIM, DIM), "self_attn.k": (KV_HEADS * HEAD_DIM, DIM),
              "self_attn.v": (KV_HEADS * HEAD_DIM, DIM), "self_attn.o": (DIM, HEADS * HEAD_DIM),
              "mlp.gate": (FF, DIM), "mlp.up": (FF, DIM), "mlp.down": (DIM, FF)}
    for short, (out, k) in shapes.items():
        value = f16(rng.normal(0.02, 0.7 / math.sqrt(k), (out, k)))
        w[short.split(".")[1]] = linear(tensors, layer + short + "_proj", value, spec, rng)
    quantization = {"quant_method": method, "bits": 4, "group_size": group}
    if method == "gptq":
        quantization.update(desc_act=desc_act, sym=sym, checkpoint_format=version)
    else:
        quantization.update(zero_point=True, version="gemm")
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": DIM,
              "intermediate_size": FF, "num_hidden_layers": 1, "num_attention_heads": HEADS,
              "num_key_value_heads": KV_HEADS, "vocab_size": VOCAB, "hidden_act": "silu",
              "max_position_embeddings": 64, "rms_norm_eps": EPS, "rope_theta": BASE,
              "tie_word_embeddings": True, "torch_dtype": "float16",
              "quantization_config": quantization}
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    write_safetensors(folder / "model.safetensors", tensors)
    return [float(f"{x:.6g}") for x in logits_of(w).ravel()]


def main():
    models = {}
    for i, (name, spec) in enumerate(MODELS.items()):
        models[name] = make_model(name, spec, np.random.default_rng(100 + i))
    (OUT / "logits.json").write_text(json.dumps({"tokens": TOKENS, "models": models}) + "\n")


if __name__ == "__main__":
    main()
