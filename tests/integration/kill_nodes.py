#!/usr/bin/env python3
"""Answers survive phones that die, hang and come back.

A head and six agents, real processes over TLS. First every question is answered undisturbed; then
all are asked again and again, at once, while every few seconds a random agent is killed (-9) or
stopped (SIGSTOP, later SIGCONT) and started again. Every answer must be the same text, no pause
longer than allowed, and no process may grow.

  kill_nodes.py SHOAL MODEL [--seconds 120] [--questions 16] [--tokens 200] [--pause 2.0]
"""

import argparse
import http.client
import json
import os
import pathlib
import random
import re
import signal
import sys
import threading
import time

from cluster_processes import Cluster

PROMPTS = [
    "Once upon a time", "The little dog", "Lily and Tom", "One day a big bear", "In the garden",
    "There was a boy named Max", "The sun was", "A small cat", "Mom said", "The red ball",
    "It was raining", "A bird sat", "The old man", "Tim had a toy", "In the park", "The princess",
]


def ask(address, prompt, tokens, seed):
    """The text of one streamed answer, and the longest time between two pieces of it."""
    body = {"prompt": prompt, "max_tokens": tokens, "stream": True,
            # An answer of exactly so many tokens: the ends are never drawn.
            "logit_bias": {"1": -100, "2": -100}}
    body |= {"temperature": 0} if seed is None else {"temperature": 0.8, "seed": seed}
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request("POST", "/v1/completions", json.dumps(body),
                       {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise RuntimeError(f"{response.status}: {response.read().decode()}")
    text, longest, last, finish = "", 0.0, time.monotonic(), None
    for line in response:
        if not line.startswith(b"data: ") or line.strip() == b"data: [DONE]":
            continue
        choice = json.loads(line[6:])["choices"][0]
        now = time.monotonic()
        longest, last = max(longest, now - last), now
        text += choice.get("text") or ""
        finish = choice.get("finish_reason") or finish
    if finish != "length":
        raise RuntimeError(f"the answer ended with {finish}")
    return text, longest


PAUSE = re.compile(r"answers went on after ([\d.]+) s: noticed after ([\d.]+), "
                   r"layers there after ([\d.]+), replayed in ([\d.]+)")


def describe_pauses(log):
    """Where the time of the pauses went, by what the head says of them."""
    pauses = [tuple(map(float, match)) for match in PAUSE.findall(log)]
    if not pauses:
        return "the head tells of no pause"
    parts = []
    for name, seconds in zip(("together", "noticed", "layers there", "replayed"), zip(*pauses)):
        ordered = sorted(seconds)
        parts.append(f"{name} {ordered[len(ordered) // 2]:.2f}/{ordered[-1]:.2f}")
    return f"{len(pauses)} pauses, median/longest in s: {', '.join(parts)}"


def resident_mb(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def torment(cluster, seconds, interval, seed, done):
    """Kills or stops one agent every `interval` seconds, and brings it back."""
    rng = random.Random(seed)
    counts = {"killed": 0, "stopped": 0}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(interval / 2)
        victim = rng.choice(list(cluster.agents))
        process = cluster.agents[victim]
        if rng.random() < 0.5:
            process.kill()
            process.wait()
            time.sleep(interval / 2)
            cluster.start_agent(victim)
            counts["killed"] += 1
        else:
            process.send_signal(signal.SIGSTOP)
            time.sleep(interval / 2)
            process.send_signal(signal.SIGCONT)
            counts["stopped"] += 1
    done.set()
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--interval", type=float, default=3)
    parser.add_argument("--questions", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=6)
    parser.add_argument("--pause", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep-log", help="a file for what head and agents said")
    parser.add_argument("--serve", default="", help="more options for `shoal serve`")
    options = parser.parse_args()
    if not os.path.exists(options.model):
        print(f"skipped: {options.model} is not there")
        return 77

    cluster = Cluster(options.shoal, options.model, options.nodes, options.serve.split())
    failures, pauses, answers = [], [], 0
    try:
        questions = [(PROMPTS[i % len(PROMPTS)], None if i % 2 == 0 else i)
                     for i in range(options.questions)]
        right = [ask(cluster.http, prompt, options.tokens, seed)[0] for prompt, seed in questions]
        head_before = resident_mb(cluster.head)
        done, lock = threading.Event(), threading.Lock()

        def client(i):
            nonlocal answers
            while not done.is_set():
                try:
                    text, pause = ask(cluster.http, questions[i][0], options.tokens,
                                      questions[i][1])
                except (OSError, RuntimeError, http.client.HTTPException) as error:
                    with lock:
                        failures.append(f"question {i}: {error}")
                    return
                with lock:
                    answers += 1
                    pauses.append(pause)
                    if text != right[i]:
                        failures.append(f"question {i}: another text than undisturbed")

        threads = [threading.Thread(target=client, args=(i,)) for i in range(options.questions)]
        for thread in threads:
            thread.start()
        counts = torment(cluster, options.seconds, options.interval, options.seed, done)
        for thread in threads:
            thread.join()
        head_after = resident_mb(cluster.head)
        grown = head_after - head_before
        longest = max(pauses, default=0)
        print(f"{answers} answers of {options.tokens} tokens, {counts['killed']} agents killed, "
              f"{counts['stopped']} stopped; longest pause {longest:.2f} s, median of the longest "
              f"{sorted(pauses)[len(pauses) // 2] if pauses else 0:.2f} s; the head grew by "
              f"{grown:.1f} MB")
        print(describe_pauses((cluster.root / "log").read_text()))
        if longest > options.pause:
            failures.append(f"a pause of {longest:.2f} s, allowed are {options.pause} s")
        if grown > 64:
            failures.append(f"the head grew from {head_before:.0f} to {head_after:.0f} MB")
        if answers < options.questions:
            failures.append(f"only {answers} answers")
    finally:
        if options.keep_log:
            pathlib.Path(options.keep_log).write_text((cluster.root / "log").read_text())
        cluster.close()
    for failure in failures[:20]:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
