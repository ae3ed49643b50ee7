#!/usr/bin/env python3
"""One cluster of mixed CPUs: a phone's binary under qemu, one node with the plain C++ kernels and
one with this machine's best, over TLS. They must say what a single device says, and of everything
they compute, which is computed again elsewhere, not one bit may differ: questions come one by one
and several at once, in prompts and answers of any length, so that batches and chunks are of all
kinds.

  mixed_cpus.py SHOAL PHONE_SHOAL QEMU MODEL [AUDITS]

By hand, with 10,000 audits: about a quarter of an hour.
"""

import http.client
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

SECONDS_MAX = 3600
USERS = 6
WORDS = "thou art the king of all my noble lords and what he said was not so fair as death".split()


class Cluster:
    def __init__(self, shoal, phone, qemu, model, root, log):
        self.shoal, self.head = shoal, pathlib.Path(root) / "head"
        self.process = subprocess.Popen(
            [shoal, "up", "--model", model, "--nodes", "3", "--dir", root, "--http", "127.0.0.1:0",
             "--stages", "3", "--runner", f"1={qemu} {phone}", "--node-options",
             "2=--target ref", "--threads", "2", "--serve=--audit 100%"],
            stdout=log, stderr=log)

    def wait(self):
        """True: the three nodes share the model."""
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline:
            time.sleep(0.2)
            nodes = self.status().get("nodes", [])
            if len([n for n in nodes if n["layer_end"] > n["layer_begin"]]) == 3:
                return True
        return False

    def status(self):
        return json.loads(subprocess.run(
            [self.shoal, "status", "--dir", str(self.head), "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout or "{}")

    def ask(self, **question):
        address = json.loads((self.head / "serve.json").read_text())["http"]
        connection = http.client.HTTPConnection(address, timeout=240)
        connection.request("POST", "/v1/completions", json.dumps(question))
        answer = json.loads(connection.getresponse().read())
        if "choices" not in answer:
            raise RuntimeError(answer)
        return answer["choices"][0]["text"]


def talk(cluster, wanted):
    """Asks until so many audits are over; the tally of them."""
    deadline = time.monotonic() + SECONDS_MAX
    over, failures = threading.Event(), []

    def user(number):
        dice = random.Random(number)
        while not over.is_set():
            prompt = " ".join(dice.choices(WORDS, k=dice.choice([1, 3, 10, 40])))
            try:
                cluster.ask(prompt=prompt, max_tokens=dice.randint(1, 30),
                            temperature=dice.choice([0, 0.8]), seed=dice.randint(0, 99))
            except (OSError, RuntimeError) as error:
                failures.append(error)
                over.set()
            if dice.random() < 0.3:  # Now and then there are fewer.
                over.wait(dice.random())

    users = [threading.Thread(target=user, args=(i,)) for i in range(USERS)]
    for thread in users:
        thread.start()
    audits = {}
    while not over.is_set():
        audits = cluster.status().get("audits") or audits
        if audits.get("right", 0) >= wanted or audits.get("wrong", 0) or \
                time.monotonic() > deadline:
            over.set()
        over.wait(1)
    for thread in users:
        thread.join()
    if failures:
        sys.exit(f"an answer failed: {failures[0]}")
    return audits


def main():
    shoal, phone, qemu, model = sys.argv[1:5]
    wanted = int(sys.argv[5]) if len(sys.argv) > 5 else 100
    for path in (shoal, phone, model):
        if not os.path.exists(path):
            print(f"skipped: {path} is not there")
            return 77
    prompt = "ROMEO:"
    alone = json.loads(subprocess.run(
        [shoal, "generate", "--model", model, "--prompt", prompt, "--tokens", "64",
         "--temperature", "0", "--json"], check=True, stdout=subprocess.PIPE).stdout)["text"]
    with tempfile.TemporaryDirectory(prefix="shoal-mixed-") as root, \
            open(pathlib.Path(root) / "log", "w+") as log:
        cluster = Cluster(shoal, phone, qemu, model, root, log)
        try:
            if not cluster.wait():
                log.seek(0)
                print(log.read())
                sys.exit("the three nodes did not share the model")
            text = cluster.ask(prompt=prompt, max_tokens=64, temperature=0)
            audits = talk(cluster, wanted)
            blamed = [n["id"] for n in cluster.status()["nodes"] if n["state"] == "quarantined"]
        finally:
            cluster.process.kill()
            cluster.process.wait()
    if text != alone:
        sys.exit(f"alone:    {alone!r}\ntogether: {text!r}")
    print(f"the same {len(text)} characters on NEON under qemu, plain C++ and the best of this CPU; "
          f"audits: {audits}, nodes blamed: {blamed}")
    return 0 if audits["right"] >= wanted and not audits["wrong"] and not blamed else 1


if __name__ == "__main__":
    sys.exit(main())
