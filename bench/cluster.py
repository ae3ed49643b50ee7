#!/usr/bin/env python3
"""How fast a cluster of processes on this machine answers, over links with a delay.

A head and as many nodes as stages, one thread each, real TLS; every frame takes --delays milliseconds
longer, one way. Beside it one device without any of it: `shoal generate` with one thread.

  cluster.py SHOAL --model MODEL [--delays 0,2,5] [--stages 1,2,4] [--rounds 5] [--json]
"""

import argparse
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

TOKENS = 64


class Cluster:
    def __init__(self, shoal, model, stages, delay_ms):
        self.dir = tempfile.TemporaryDirectory(prefix="shoal-bench-")
        self.log = open(os.path.join(self.dir.name, "log"), "w")
        self.process = subprocess.Popen(
            [shoal, "up", "--model", model, "--nodes", str(stages), "--stages", str(stages),
             "--dir", self.dir.name, "--http", "127.0.0.1:0", "--threads", "1", "--delay-ms",
             str(delay_ms), "--serve", "--threads 1 --context 1024 --positions 32768"],
            stdout=self.log, stderr=self.log)
        serve = pathlib.Path(self.dir.name, "head", "serve.json")
        deadline = time.monotonic() + 300
        while True:
            if time.monotonic() > deadline or self.process.poll() is not None:
                sys.exit("the cluster did not start: " + pathlib.Path(self.log.name).read_text())
            time.sleep(0.1)
            if not serve.exists():
                continue
            self.http = json.loads(serve.read_text())["http"]
            nodes = json.loads(subprocess.run(
                [shoal, "nodes", "ls", "--dir", os.path.join(self.dir.name, "head"), "--json"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout or "{}").get("nodes", [])
            if sum(n["layer_end"] > n["layer_begin"] for n in nodes) == stages:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()
        self.dir.cleanup()


def ask(address, prompt, tokens):
    """When the first token came, and the last, after the question."""
    connection = http.client.HTTPConnection(address, timeout=300)
    body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "stream": True,
            "logit_bias": {"1": -100, "2": -100}}
    begin = time.monotonic()
    connection.request("POST", "/v1/completions", json.dumps(body))
    first = last = None
    for line in connection.getresponse():
        if line.startswith(b"data: {"):
            last = time.monotonic() - begin
            first = first or last
    return first, last


def single(address):
    first, last = ask(address, "Once upon a time there was", TOKENS)
    return (TOKENS - 1) / (last - first)


def users(address, count):
    ends = []
    begin = time.monotonic()
    threads = [threading.Thread(target=lambda i=i: ends.append(
        ask(address, f"Story number {i} begins", TOKENS))) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return count * TOKENS / (time.monotonic() - begin)


def first_token(address, length, seed):
    # Token ids, so that the length is exact; other ones each time.
    return 1e3 * ask(address, [1 + (seed * 7919 + i * 31) % 900 for i in range(length)], 2)[0]


def alone(shoal, model):
    out = subprocess.run([shoal, "generate", "--model", model, "--threads", "1", "--context", "1024",
                          "--prompt", "Once upon a time there was", "--tokens", str(TOKENS),
                          "--temperature", "0", "--guesses", "4", "--json"],
                         check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return json.loads(out)["tokens_per_s"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--model", required=True)
    parser.add_argument("--delays", default="0,2,5")
    parser.add_argument("--stages", default="1,2,4")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = []

    def add(case, unit, value, higher=True, peers=None):
        peers = peers or {}
        ratio = {name: (value / other if higher else other / value) for name, other in peers.items()}
        results.append({"case": case, "unit": unit, "higher_is_better": higher, "ours": value,
                        "peers": peers, "ratio": ratio})
        if not options.json:
            beside = "".join(f"  {name} {other:.1f}, ratio {ratio[name]:.2f}"
                             for name, other in peers.items())
            print(f"{case:<44} {value:9.1f} {unit}{beside}", flush=True)

    for stages in map(int, options.stages.split(",")):
        for delay in options.delays.split(","):
            name = f"stages={stages} delay={delay}ms"
            with Cluster(options.shoal, options.model, stages, delay) as cluster:
                ask(cluster.http, "Warm up", 8)
                ours, other = [], []
                for _ in range(options.rounds):
                    ours.append(single(cluster.http))
                    if stages == 1 and delay == "0":
                        other.append(alone(options.shoal, options.model))
                add(f"{name} one answer", "tokens/s", max(ours),
                    peers={"one device": max(other)} if other else None)
                for count in (8, 32):
                    add(f"{name} {count} users", "tokens/s", users(cluster.http, count))
                for length in (64, 512):
                    add(f"{name} first token of {length}", "ms",
                        min(first_token(cluster.http, length, r) for r in range(options.rounds)),
                        higher=False)
    if options.json:
        print(json.dumps({"bench": "cluster", "results": results}, indent=2))


if __name__ == "__main__":
    main()
