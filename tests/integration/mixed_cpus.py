#!/usr/bin/env python3
"""One cluster of mixed CPUs: a phone's binary under qemu, one node with the plain C++ kernels and
one with this machine's best, over TLS. They must say what a single device says.

  mixed_cpus.py SHOAL PHONE_SHOAL QEMU MODEL
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request


def main():
    shoal, phone, qemu, model = sys.argv[1:5]
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
        up = subprocess.Popen(
            [shoal, "up", "--model", model, "--nodes", "3", "--dir", root, "--http", "127.0.0.1:0",
             "--stages", "3", "--runner", f"1={qemu} {phone}", "--node-options", "2=--target ref"],
            stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 240
            address = None
            while time.monotonic() < deadline:
                time.sleep(0.2)
                serve = pathlib.Path(root) / "head" / "serve.json"
                if not serve.exists():
                    continue
                address = json.loads(serve.read_text())["http"]
                nodes = json.loads(subprocess.run(
                    [shoal, "nodes", "ls", "--dir", root + "/head", "--json"],
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout or "{}")
                holding = [n for n in nodes.get("nodes", []) if n["layer_end"] > n["layer_begin"]]
                if len(holding) == 3:
                    break
            else:
                log.seek(0)
                print(log.read())
                sys.exit("the three nodes did not share the model")
            body = json.dumps({"prompt": prompt, "max_tokens": 64, "temperature": 0}).encode()
            with urllib.request.urlopen(f"http://{address}/v1/completions", body, 240) as answer:
                text = json.loads(answer.read())["choices"][0]["text"]
        finally:
            up.kill()
            up.wait()
    if text != alone:
        print(f"alone:    {alone!r}\ntogether: {text!r}")
        return 1
    print(f"the same {len(text)} characters on NEON under qemu, plain C++ and the best of this CPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
