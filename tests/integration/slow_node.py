#!/usr/bin/env python3
"""Layers leave a node that gets slow, in the middle of an answer.

A head and some agents, real processes over TLS, with a made-up model whose layers take a
millisecond or two. While answers run, one agent is held to 30 % of the time: by its limit (`shoal
nodes set --duty 0.3`, which the head passes on and does not plan with), or, with --by stops, by
stopping it for 7 of every 10 ms. Measured are the seconds until layers have moved, and the tokens/s
afterwards against those of a cluster whose plan was made for these speeds: that agent was as slow
from its start on, and its profile says so. Every answer must be what one device gives.

  slow_node.py SHOAL TOKENIZER [--by stops] [--rounds 3] [--ratio 0.85] [--within 10]

Stops while a node has nothing to do are not seen by it: with few users on a fast machine it looks
less slow than it is, and layers move late.

TOKENIZER: a GGUF file of llama's kind with a small vocabulary, as zoo/bard/bard-q8_0.gguf.
"""

import argparse
import http.client
import json
import os
import pathlib
import random
import signal
import statistics
import struct
import sys
import tempfile
import threading
import time

from cluster_processes import Cluster, wait_for

LAYERS, DIM, FF, HEADS, KV_HEADS = 12, 1024, 2816, 16, 4
PROMPTS = ["ROMEO:", "First Citizen:", "Now is the winter", "My lord,"]
TOKENS = 48
SHARE, PERIOD = 0.3, 0.010


def read_keys(data):
    """The keys of a GGUF file: (name, kind, bytes of its value)."""
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

    def text(at):
        (length,) = struct.unpack_from("<Q", data, at)
        return data[at + 8:at + 8 + length].decode(), at + 8 + length

    def skip(kind, at):
        if kind == 8:
            return text(at)[1]
        if kind != 9:
            return at + sizes[kind]
        inner, count = struct.unpack_from("<iQ", data, at)
        at += 12
        for _ in range(count):
            at = skip(inner, at)
        return at

    (count,) = struct.unpack_from("<Q", data, 16)
    keys, at = [], 24
    for _ in range(count):
        name, at = text(at)
        (kind,) = struct.unpack_from("<i", data, at)
        end = skip(kind, at + 4)
        keys.append((name, kind, data[at + 4:end]))
        at = end
    return keys


def make_model(tokenizer, path):
    """A model with the tokenizer of another file, of random numbers, Q8_0."""
    sizes = {"block_count": LAYERS, "embedding_length": DIM, "feed_forward_length": FF,
             "attention.head_count": HEADS, "attention.head_count_kv": KV_HEADS,
             "rope.dimension_count": DIM // HEADS, "context_length": 512}
    keys, vocab = b"", 0
    entries = read_keys(pathlib.Path(tokenizer).read_bytes())
    for name, kind, value in entries:
        size = sizes.get(name.removeprefix("llama."))
        if size is not None:
            value = struct.pack("<I", size)
        if name == "tokenizer.ggml.tokens":
            (vocab,) = struct.unpack_from("<Q", value, 4)
        keys += struct.pack("<Q", len(name)) + name.encode() + struct.pack("<i", kind) + value
    kv_dim = KV_HEADS * DIM // HEADS
    tensors = [("token_embd", DIM, vocab), ("output_norm", DIM, None)]
    for i in range(LAYERS):
        tensors += [(f"blk.{i}.{name}", *shape) for name, shape in {
            "attn_norm": (DIM, None), "attn_q": (DIM, DIM), "attn_k": (DIM, kv_dim),
            "attn_v": (DIM, kv_dim), "attn_output": (DIM, DIM), "ffn_norm": (DIM, None),
            "ffn_gate": (DIM, FF), "ffn_up": (DIM, FF), "ffn_down": (FF, DIM)}.items()]
    # Blocks of 32 numbers with a scale that keeps the residual stream small.
    rng, scale = random.Random(1), struct.pack("<e", 0.0004)
    blocks = b"".join(scale + rng.randbytes(32) for _ in range(10007))
    infos, offset, sections = b"", 0, []
    for name, inner, outer in tensors:
        name = (name + ".weight").encode()
        dims = (inner,) if outer is None else (inner, outer)
        length = inner * 4 if outer is None else inner * outer // 32 * 34
        infos += (struct.pack("<Q", len(name)) + name + struct.pack("<I", len(dims)) +
                  struct.pack(f"<{len(dims)}q", *dims) +
                  struct.pack("<iQ", 0 if outer is None else 8, offset))
        if outer is None:
            sections.append(struct.pack("<f", 1) * inner)
        else:
            start = rng.randrange(10007) * 34
            rows = blocks[start:] + blocks * (length // len(blocks) + 1)
            sections.append(rows[:length])
        sections.append(bytes(-length % 32))
        offset += length + -length % 32
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(entries)) + keys + infos
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32))
        for section in sections:
            file.write(section)


class Brake(threading.Thread):
    """Lets a process run for a share of the time only."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.over = process, threading.Event()

    def run(self):
        next_period = time.monotonic()
        while not self.over.is_set() and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            time.sleep(SHARE * PERIOD)
            self.process.send_signal(signal.SIGSTOP)
            next_period = max(next_period + PERIOD, time.monotonic() + (1 - SHARE) * PERIOD)
            time.sleep(max(next_period - time.monotonic(), 0))
        self.process.send_signal(signal.SIGCONT)


class Reader(threading.Thread):
    """Asks one question after the other, and notes when tokens come."""

    def __init__(self, address, right):
        super().__init__(daemon=True)
        self.address, self.right = address, right
        self.over, self.times, self.wrong, self.answers = threading.Event(), [], [], 0

    def run(self):
        while not self.over.is_set():
            prompt = PROMPTS[self.answers % len(PROMPTS)]
            try:
                text = self.ask(prompt)
            except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
                self.wrong.append(f"{prompt!r}: {error!r}")
                return
            if text != self.right[prompt]:
                self.wrong.append(f"{prompt!r}\nalone:   {self.right[prompt]!r}\ncluster: {text!r}")
            self.answers += 1

    def ask(self, prompt):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.request("POST", "/v1/completions", json.dumps(
            {"prompt": prompt, "max_tokens": TOKENS, "temperature": 0, "stream": True}))
        text = ""
        for line in connection.getresponse():
            if line.startswith(b"data: ") and line.strip() != b"data: [DONE]":
                text += json.loads(line[6:])["choices"][0].get("text") or ""
                self.times.append(time.monotonic())
        return text

    def rate(self, seconds):
        """Pieces of text a second, from now on."""
        begin = time.monotonic()
        time.sleep(seconds)
        return sum(1 for at in list(self.times) if at >= begin) / seconds


def layers(cluster):
    nodes = json.loads(cluster.run("nodes", "ls", "--json", "--dir", cluster.root / "head"))["nodes"]
    return {node["label"]: (node["layer_begin"], node["layer_end"]) for node in nodes}


class Limit:
    """Lets an agent compute for a share of the time only."""

    def __init__(self, cluster, label):
        self.cluster = cluster
        listed = json.loads(cluster.run("nodes", "ls", "--json", "--dir", cluster.root / "head"))
        self.node = next(n["id"] for n in listed["nodes"] if n["label"] == label)
        self.over = threading.Event()

    def start(self):
        self.cluster.run("nodes", "set", str(self.node), "--duty", str(SHARE), "--dir",
                         self.cluster.root / "head")

    def join(self):
        pass


def brake_of(options, cluster):
    if options.by == "stops":
        return Brake(cluster.agents[options.nodes])
    return Limit(cluster, f"node-{options.nodes}")


def slow_profile(profile):
    """A kept profile, as slow: two numbers of protobuf's kind 1, in fields 1 and 2."""
    assert profile[0] == 0x09 and profile[9] == 0x11 and len(profile) == 18, profile
    speeds = [struct.unpack_from("<d", profile, at)[0] * SHARE for at in (1, 10)]
    return struct.pack("<BdBd", 0x09, speeds[0], 0x11, speeds[1])


def start(options, model, braked, profile=None):
    """A cluster that answers; `braked`: its last agent is slow from its start on."""
    brakes = []

    class Shelf(Cluster):
        def start_agent(self, i, *invitation):
            if braked and options.by == "duty":
                folder = self.root / f"node-{i}"
                folder.mkdir(mode=0o700, exist_ok=True)
                name, kept = profile
                (folder / name).write_bytes(slow_profile(kept) if i == options.nodes else kept)
                if i == options.nodes:
                    invitation = (*invitation, "--duty", str(SHARE))
            super().start_agent(i, *invitation)
            if braked and options.by == "stops" and i == options.nodes:
                brakes.append(Brake(self.agents[i]))
                brakes[-1].start()

    cluster = Shelf(options.shoal, model, options.nodes,
                    ["--stages", str(options.nodes), "--guesses", "0"])
    wait_for(lambda: all(end for begin, end in layers(cluster).values()), 60, "the pipeline")
    return cluster, brakes


def run_slowed(options, model, right):
    """tokens/s before, seconds until layers moved, tokens/s after it, an agent's profile; and what
    was wrong."""
    cluster, _ = start(options, model, False)
    reader = Reader(cluster.http, right)
    try:
        reader.start()
        time.sleep(4)
        before = reader.rate(options.seconds)
        held = layers(cluster)
        brake = brake_of(options, cluster)
        brake.start()
        begin = time.monotonic()
        while layers(cluster) == held and time.monotonic() - begin < 60:
            time.sleep(0.1)
        moved = time.monotonic() - begin
        time.sleep(6)  # If once was not enough.
        after = reader.rate(options.seconds)
        reader.over.set()
        reader.join()
        brake.over.set()
        brake.join()
        log = (cluster.root / "log").read_text()
        print("\n".join(line for line in log.splitlines() if "as long as it promised" in line))
        kept = next((cluster.root / "node-1").glob("profile-*"))
        return before, moved, after, (kept.name, kept.read_bytes()), reader.wrong
    finally:
        cluster.close()


def run_planned(options, model, right, profile):
    """tokens/s of a cluster that knows from the start."""
    cluster, brakes = start(options, model, True, profile)
    reader = Reader(cluster.http, right)
    try:
        reader.start()
        time.sleep(10)
        rate = reader.rate(options.seconds)
        reader.over.set()
        reader.join()
        for brake in brakes:
            brake.over.set()
            brake.join()
        return rate, reader.wrong
    finally:
        cluster.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("tokenizer")
    parser.add_argument("--by", choices=["duty", "stops"], default="duty")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10, help="of every measurement")
    parser.add_argument("--ratio", type=float, default=0.85)
    parser.add_argument("--within", type=float, default=10, help="seconds until layers moved")
    options = parser.parse_args()
    if not os.path.exists(options.tokenizer):
        print(f"skipped: {options.tokenizer} is not there")
        return 77
    failures, ratios, moves = [], [], []
    with tempfile.TemporaryDirectory(prefix="shoal-slow-") as folder:
        model = f"{folder}/slow.gguf"
        make_model(options.tokenizer, model)
        right = {}
        for prompt in PROMPTS:
            process = os.popen(f"{options.shoal} generate --model {model} --prompt '{prompt}' "
                               f"--tokens {TOKENS} --temperature 0 --json")
            right[prompt] = json.loads(process.read())["text"]
        for i in range(options.rounds):
            before, moved, after, profile, wrong = run_slowed(options, model, right)
            planned, wrong_too = run_planned(options, model, right, profile)
            failures += wrong + wrong_too
            moves.append(moved)
            ratios.append(after / planned if planned else 0)
            print(f"round {i + 1}: {before:.1f} tokens/s before, layers moved after {moved:.1f} s, "
                  f"then {after:.1f}; planned so from the start {planned:.1f}: "
                  f"{100 * ratios[-1]:.0f} %", flush=True)
    ratio = statistics.median(ratios)
    print(f"median of {options.rounds}: moved after {statistics.median(moves):.1f} s, "
          f"{100 * ratio:.0f} % of what was planned so")
    if max(moves) > options.within:
        failures.append(f"layers moved only after {max(moves):.1f} s")
    if ratio < options.ratio:
        failures.append(f"{100 * ratio:.0f} % of the tokens/s, wanted are {100 * options.ratio:.0f}")
    for failure in failures[:10]:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
