#!/usr/bin/env python3
"""How fast clusters of processes on this machine answer, over links with a delay.

Ours: a head and as many nodes as stages, one thread each, real TLS, every frame --delays milliseconds
longer on its way. Beside it, if their programs are given, behind proxies with the same delay:
llama.cpp's llama-server with as many ggml-rpc-servers, and distributed-llama with as many nodes. All
have TinyLlama's shape and random 4-bit weights. Nothing is guessed ahead (--guesses 0): with random
weights, luck would decide. They take turns; the best of --rounds counts.

  cluster.py SHOAL [--model GGUF] [--delays 0,2,5] [--stages 2,4] [--users 8,32]
             [--prompts 64,512] [--rounds 5] [--json] [--llama-cpp DIR] [--distributed-llama DIR]
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

TOKENS = 64
HERE = pathlib.Path(__file__).resolve().parent


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(ready, what, process=None, seconds=300):
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline or (process and process.poll() is not None):
            sys.exit(f"{what} did not start")
        time.sleep(0.1)


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def letters(length, seed=0):
    """Each is a token in the models here."""
    return "".join(chr(ord("a") + (seed * 7 + i * 3 + i // 5) % 26) for i in range(length))


def ask(address, body):
    """When the first token came, and the last, after the question."""
    connection = http.client.HTTPConnection(address, timeout=600)
    begin = time.monotonic()
    connection.request("POST", "/v1/completions", json.dumps({**body, "stream": True}),
                       {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        sys.exit(f"{address}: {response.read().decode()}")
    first = last = None
    for line in response:
        if line.startswith(b"data: {"):
            last = time.monotonic() - begin
            first = first or last
    return first, last


class System:
    """Processes that are stopped (SIGSTOP) while somebody else is measured."""

    def __init__(self):
        self.processes = []
        self.dir = tempfile.TemporaryDirectory(prefix="shoal-bench-")

    def start(self, *command, **options):
        log = open(os.path.join(self.dir.name, f"log{len(self.processes)}"), "w")
        process = subprocess.Popen([str(c) for c in command], stdout=log, stderr=log, **options)
        self.processes.append(process)
        return process

    def proxy(self, shoal, delay, ports):
        """Ports that lead to `ports` with a delay."""
        if float(delay) == 0:
            return ports
        doors = [free_port() for _ in ports]
        program = pathlib.Path(shoal).resolve().parents[2] / "bench" / "peers" / "delay_proxy"
        pairs = [str(p) for pair in zip(doors, ports) for p in pair]
        process = subprocess.Popen([program, delay, *pairs], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        process.stdout.readline()  # It listens now; trying would connect it to its target.
        self.processes.append(process)
        return doors

    def signal(self, number):
        for process in self.processes:
            process.send_signal(number)

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.dir.cleanup()


class HttpSystem(System):
    """One that answers at self.http."""

    def single(self):
        first, last = ask(self.http, self.body(letters(8), TOKENS))
        return (TOKENS - 1) / (last - first)

    def first_token(self, length, seed):
        return 1e3 * ask(self.http, self.body(letters(length - 2, seed), 2))[0]

    def users(self, count):
        threads = [threading.Thread(target=ask, args=(self.http, self.body(letters(8, i), TOKENS)))
                   for i in range(count)]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return count * TOKENS / (time.monotonic() - begin)


class Shoal(HttpSystem):
    name = "shoal"

    def __init__(self, options, stages, delay):
        super().__init__()
        up = self.start(
            options.shoal, "up", "--model", options.model, "--nodes", stages, "--stages", stages,
            "--dir", os.path.join(self.dir.name, "up"), "--http", "127.0.0.1:0", "--threads", 1,
            "--delay-ms", delay, "--serve",
            "--threads 1 --guesses 0 --context 1024 --positions 32768")
        home = pathlib.Path(self.dir.name, "up", "head")

        def ready():
            if not (home / "serve.json").exists():
                return False
            self.http = json.loads((home / "serve.json").read_text())["http"]
            nodes = subprocess.run([options.shoal, "nodes", "ls", "--dir", home, "--json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            nodes = json.loads(nodes or "{}").get("nodes", [])
            return sum(n["layer_end"] > n["layer_begin"] for n in nodes) == stages

        wait_until(ready, "shoal up", up)

    def body(self, prompt, tokens):
        return {"prompt": prompt, "max_tokens": tokens, "temperature": 0,
                "logit_bias": {"1": -100, "2": -100}}

    def signal(self, number):
        """Its nodes would be taken for dead; idle ones cost nothing."""

    def close(self):
        self.processes[0].terminate()
        self.processes[0].wait()
        super().close()


class LlamaCpp(HttpSystem):
    name = "llama.cpp RPC"

    def __init__(self, options, stages, delay):
        super().__init__()
        folder = pathlib.Path(options.llama_cpp)
        program = next(p for p in (folder / "ggml-rpc-server", folder / "rpc-server") if p.exists())
        ports = [free_port() for _ in range(stages)]
        for port in ports:
            self.start(program, "-H", "127.0.0.1", "-p", port, "-t", 1)
        wait_until(lambda: all(map(listens, ports)), "rpc-server")
        doors = self.proxy(options.shoal, delay, ports)
        port = free_port()
        self.http = f"127.0.0.1:{port}"
        server = self.start(folder / "llama-server", "-m", options.model, "--rpc",
                            ",".join(f"127.0.0.1:{p}" for p in doors), "-ngl", 99, "-t", 1, "-np", 8,
                            "-c", 8 * 1024, "--port", port, "--no-warmup", "--kv-unified")

        def healthy():
            try:
                connection = http.client.HTTPConnection(self.http, timeout=2)
                connection.request("GET", "/health")
                return connection.getresponse().status == 200
            except OSError:
                return False

        wait_until(healthy, "llama-server", server, 600)

    def body(self, prompt, tokens):
        return {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True,
                "cache_prompt": False}


class DistributedLlama(System):
    name = "distributed-llama"

    def __init__(self, options, stages, delay):
        super().__init__()
        self.folder = pathlib.Path(options.distributed_llama)
        self.model = options.distributed_llama_model
        ports = [free_port() for _ in range(stages - 1)]
        for port in ports:
            self.start(self.folder / "dllama", "worker", "--port", port, "--nthreads", 1)
        time.sleep(1)  # One connection is all they take, so nobody tries whether they listen.
        self.workers = self.proxy(options.shoal, delay, ports)

    def run(self, prompt, tokens):
        """Milliseconds of the prompt, and tokens a second after it."""
        out = subprocess.run(
            [self.folder / "dllama", "inference", "--model", f"{self.model}/model.m", "--tokenizer",
             f"{self.model}/tokenizer.t", "--prompt", prompt, "--steps", str(len(prompt) + tokens),
             "--nthreads", "1", "--buffer-float-type", "q80", "--temperature", "0", "--workers",
             *[f"127.0.0.1:{p}" for p in self.workers]],
            check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode()
        evaluation, prediction = re.findall(r"tokens/s: ([0-9.]+) \(", out)
        return 1e3 * len(prompt) / float(evaluation), float(prediction)

    def single(self):
        # A quarter of the tokens, as it is slow: its figure is one of tokens alone.
        self.rate = self.run(letters(8), TOKENS // 4)[1]
        return self.rate

    def first_token(self, length, seed):
        prompt, rate = self.run(letters(length, seed), 4)
        return prompt + 1e3 / rate

    def users(self, count):
        """One at a time is all that it serves."""
        return self.rate


def loopback_bytes():
    return int(pathlib.Path("/sys/class/net/lo/statistics/tx_bytes").read_text())


class Bench:
    def __init__(self, options):
        self.options = options
        self.results = []
        self.kinds = [Shoal]
        if options.llama_cpp:
            self.kinds.append(LlamaCpp)
        else:
            print("llama.cpp: skipped, no --llama-cpp DIR", file=sys.stderr)
        if options.distributed_llama:
            self.kinds.append(DistributedLlama)
        else:
            print("distributed-llama: skipped, no --distributed-llama DIR", file=sys.stderr)

    def add(self, case, unit, figures, higher=True):
        ours = figures.pop(Shoal.name)
        ratio = {n: (ours / f if higher else f / ours) for n, f in figures.items()}
        self.results.append({"case": case, "unit": unit, "higher_is_better": higher, "ours": ours,
                             "peers": figures, "ratio": ratio})
        if not self.options.json:
            beside = "".join(f"  {n} {f:.1f}, ratio {ratio[n]:.2f}" for n, f in figures.items())
            print(f"{case:<40} {ours:9.1f} {unit}{beside}", flush=True)

    def race(self, systems, rounds, measure, best):
        """What `best` chooses of each one's figures; they take turns."""
        figures = {system.name: [] for system in systems}
        for turn in range(rounds):
            for system in systems:
                system.signal(signal.SIGCONT)
                figures[system.name].append(measure(system, turn))
                system.signal(signal.SIGSTOP)
        return {name: best(values) for name, values in figures.items()}

    def run(self, stages, delay):
        name = f"stages={stages} delay={delay}ms"
        rounds = self.options.rounds
        with contextlib.ExitStack() as stack:
            systems = []
            for kind in self.kinds:
                system = kind(self.options, stages, delay)
                stack.callback(system.close)
                stack.callback(system.signal, signal.SIGCONT)
                system.signal(signal.SIGSTOP)
                systems.append(system)
            self.race(systems, 1, lambda s, _: s.first_token(16, 0), min)
            self.add(f"{name} one answer", "tokens/s",
                     self.race(systems, rounds, lambda s, _: s.single(), max))
            for count in map(int, self.options.users.split(",")):
                self.add(f"{name} {count} users", "tokens/s",
                         self.race(systems, min(rounds, 2), lambda s, _: s.users(count), max))
            for length in map(int, self.options.prompts.split(",")):
                self.add(f"{name} first token of {length}", "ms",
                         self.race(systems, min(rounds, 2), lambda s, r: s.first_token(length, r), min),
                         higher=False)
            if float(delay) == 0:  # Proxies would count twice.
                def traffic(system, _):
                    before = loopback_bytes()
                    system.single()
                    return (loopback_bytes() - before) / TOKENS / 1024
                talking = [s for s in systems if isinstance(s, HttpSystem)]
                self.add(f"{name} sent for a token", "KiB", self.race(talking, 1, traffic, min),
                         higher=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shoal")
    parser.add_argument("--model", help="GGUF; else random weights in TinyLlama's shape are made")
    parser.add_argument("--delays", default="0,2,5")
    parser.add_argument("--stages", default="2,4")
    parser.add_argument("--users", default="8,32")
    parser.add_argument("--prompts", default="64,512")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--llama-cpp", metavar="DIR", help="with llama-server and ggml-rpc-server")
    parser.add_argument("--distributed-llama", metavar="DIR", help="with dllama")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.gettempdir(), "shoal-bench")
    folder.mkdir(exist_ok=True)
    if not options.model:
        options.model = folder / "tinyllama-shape-Q4_0.gguf"
        program = pathlib.Path(options.shoal).resolve().parents[2] / "bench" / "pipeline"
        if not options.model.exists():
            subprocess.run([program, "--turns", "1"], check=True, stdout=subprocess.DEVNULL)
    options.distributed_llama_model = folder
    if options.distributed_llama and not (folder / "tokenizer.t").exists():
        subprocess.run([sys.executable, HERE / "peers" / "distributed_llama_model.py", folder],
                       check=True)
    bench = Bench(options)
    for stages in map(int, options.stages.split(",")):
        for delay in options.delays.split(","):
            bench.run(stages, delay)
    if options.json:
        print(json.dumps({"bench": "cluster", "results": bench.results}, indent=2))


if __name__ == "__main__":
    main()
