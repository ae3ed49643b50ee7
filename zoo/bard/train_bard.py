#!/usr/bin/env python3
"""Trains Bard, the language model that comes with Shoal, and writes it as GGUF.

  train_bard.py TEXT OUT.gguf

TEXT: plays as "NAME:", the lines of the speech, an empty line (README.md says where from). The same
text and the same torch give the same file. One thread; README.md says how long and how good.
"""
import argparse
import math
import time

import torch

import bpe
import gguf_file
import llama
import speeches

SEED = 1616
HELD_OUT = 0.05  # The end of the text, never trained on.
DROPOUT = 0.05
STEP_TOKENS = 1024  # In rows of 256, towards the end of 512.
LONG_ROWS_FROM = 0.85


def rate(step, steps, peak=1.5e-3, warm_up=80):
    if step < warm_up:
        return peak * (step + 1) / warm_up
    progress = (step - warm_up) / (steps - warm_up)
    return peak * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * progress)))


def make_optimizer(model):
    matrices = [t for t in model.tensors.values() if t.dim() == 2]
    vectors = [t for t in model.tensors.values() if t.dim() == 1]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1},
                              {"params": vectors, "weight_decay": 0.0}], betas=(0.9, 0.99))


def draw(rows, length, count):
    """Half of the rows are plain text, half conversations."""
    return torch.tensor([rows.plain(length) if i % 2 == 0 else rows.conversations(length)
                         for i in range(count)])


def held_out_losses(model, text, tokenizer, length=256, count=24):
    """(plain, conversations), nats a token, on the same rows whenever it is asked."""
    rows = speeches.Rows(text, tokenizer, SEED)
    with torch.no_grad():
        return [model.loss(torch.tensor([kind(length) for _ in range(count)])).item()
                for kind in (rows.plain, rows.conversations)]


def write(path, model, tokenizer):
    shape, ids = model.shape, tokenizer.ids
    file = gguf_file.Writer()
    file.string("general.architecture", "llama")
    file.string("general.name", "Bard")
    file.string("general.description", "Speaks like Shakespeare's plays, and makes as little sense "
                "as its size allows. Trained by zoo/bard/train_bard.py of Shoal.")
    file.string("general.license", "cc0-1.0")
    file.u32("general.file_type", 7)
    file.u32("general.quantization_version", 2)
    for key, value in (("block_count", shape.layers), ("context_length", shape.context),
                       ("embedding_length", shape.dim), ("feed_forward_length", shape.ff_dim),
                       ("attention.head_count", shape.heads),
                       ("attention.head_count_kv", shape.kv_heads),
                       ("rope.dimension_count", shape.head_dim), ("vocab_size", shape.vocab)):
        file.u32("llama." + key, value)
    file.f32("llama.attention.layer_norm_rms_epsilon", shape.rms_eps)
    file.f32("llama.rope.freq_base", shape.rope_base)
    file.string("tokenizer.ggml.model", "gpt2")
    file.string("tokenizer.ggml.pre", "gpt-2")
    file.strings("tokenizer.ggml.tokens", tokenizer.tokens)
    control = len(tokenizer.specials)
    file.array("tokenizer.ggml.token_type", 5,
               [3 if i < control else 1 for i in range(len(tokenizer.tokens))])
    file.strings("tokenizer.ggml.merges", [" ".join(pair) for pair in tokenizer.merges])
    file.u32("tokenizer.ggml.bos_token_id", ids[speeches.BOS])
    file.u32("tokenizer.ggml.eos_token_id", ids[speeches.END])
    file.boolean("tokenizer.ggml.add_bos_token", True)
    file.string("tokenizer.chat_template", speeches.CHAT_TEMPLATE)
    for name, tensor in model.tensors.items():
        file.tensor(name, tensor.detach().numpy())
    file.write(path)


def train(model, text, held_out, tokenizer, options):
    rows, optimizer, begin = (speeches.Rows(text, tokenizer, SEED), make_optimizer(model),
                              time.process_time())
    mean, steps = 0.0, options.steps
    for step in range(steps):
        length = 512 if step >= LONG_ROWS_FROM * steps else 256
        for group in optimizer.param_groups:
            group["lr"] = rate(step, steps)
        loss = model.loss(draw(rows, length, STEP_TOKENS // length), DROPOUT)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.tensors.values(), 1.0)
        optimizer.step()
        mean += (loss.item() - mean) / min(step + 1, 100)
        if (step + 1) % 250 == 0 or step + 1 == steps:
            plain, talk = held_out_losses(model, held_out, tokenizer)
            print(f"step {step + 1}: loss {mean:.3f}; held out: plain {plain:.3f}, "
                  f"conversations {talk:.3f}; {time.process_time() - begin:.0f} s", flush=True)
            write(options.out, model, tokenizer)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("text")
    parser.add_argument("out")
    parser.add_argument("--steps", type=int, default=1500)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    with open(options.text, encoding="ascii") as file:
        text = file.read()
    # Cut between two speeches.
    cut = text.index("\n\n", int(len(text) * (1 - HELD_OUT))) + 2
    shape = llama.Shape()
    merges = bpe.learn_merges(text[:cut], shape.vocab - 256 - len(speeches.SPECIALS))
    tokenizer = bpe.Tokenizer(speeches.SPECIALS, merges)
    model = llama.Llama(shape)
    held_out = text[cut:]
    print(f"{sum(t.numel() for t in model.tensors.values())} parameters; "
          f"{len(text[:cut]) / len(tokenizer.encode(text[:cut])):.2f} characters a token, "
          f"{len(held_out) / len(tokenizer.encode(held_out)):.2f} held out", flush=True)
    train(model, text[:cut], held_out, tokenizer, options)


if __name__ == "__main__":
    main()
