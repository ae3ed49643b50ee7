#!/usr/bin/env python3
"""A device that joins a running training by hand works with the others two steps after it is ready,
and strangers who knock at the head meanwhile disturb nobody.

join_later_test.py ZOO PROGRAM
"""
import json
import os
import re
import signal
import socket
import sys

from cluster_run import Folder, read_until

STEPS = 100000  # It is stopped.
IMAGES = 640


def knock(folder):
    """Strangers at the head's doors: noise, half a greeting, a line that stays open."""
    serving = json.loads((folder.path / "cluster/head/serve.json").read_text())
    strangers = []
    for address in (serving["cluster"], serving["enrol"]):
        host, port = address.rsplit(":", 1)
        for words in (b"", os.urandom(5), os.urandom(100000), b"\x16\x03\x01\x02\x00\x01",
                      b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 4096):
            stranger = socket.create_connection((host, int(port)), timeout=5)
            try:
                stranger.sendall(words)
            except OSError:
                pass  # It was hung up on.
            strangers.append(stranger)
    for stranger in strangers[::2]:
        stranger.close()
    return strangers


def main():
    folder = Folder(sys.argv[2], sys.argv[1], IMAGES)
    head = folder.start("train", "--solver", folder.solver("later", STEPS), "--batch", "32",
                        "--workers", "2", "--dir", "cluster", "--threads", "1")
    lines = read_until(head, "iteration 2 of")
    strangers = knock(folder)
    token = json.loads(folder.run("token", "--dir", "cluster/head", "--json"))
    member = folder.start("join", token["addresses"][0], token["token"], "--dir", "phone", "--name",
                          "phone", "--listen", "127.0.0.1:0", "--threads", "1", "--watts", "4.5")
    try:
        joined = read_until(member, "joined as node")[-1]
        node = joined.split()[-1]
        lines += read_until(head, "phone is ready")
        ready = max(int(n) for n in re.findall(r"iteration (\d+) of", "".join(lines)))
        lines += read_until(head, f"iteration {ready + 5} of")
        head.send_signal(signal.SIGINT)
        output, _ = head.communicate(timeout=60)
    finally:
        member.kill()
        head.kill()
    for stranger in strangers:
        stranger.close()
    if head.returncode != 0 or "stopped; to go on" not in output:
        sys.exit(f"it did not end well: {head.returncode}\n{output}")
    last = int(re.search(r"later_iter_(\d+).solverstate", output).group(1))
    folder.check_commits("later", last, IMAGES)
    commits = [json.loads(line)
               for line in (folder.path / "later.commits.jsonl").read_text().splitlines()]
    first = next(c["iteration"] for c in commits if node in c["samples"])
    print(f"node {node} was ready after iteration {ready} and worked in iteration {first}")
    if first > ready + 2:
        sys.exit("that is too late")
    if any(node not in c["samples"] for c in commits[first - 1:]):
        sys.exit("it was left out later")
    # Its owner says what it takes, nobody says it of the others.
    if not re.search(r"energy: [0-9.e-]+ J/image \(estimated; known for \d+ % of the images\)", output):
        sys.exit(f"no energy per image:\n{output}")
    if "J/image (estimated" not in (folder.path / "later.timeline.html").read_text():
        sys.exit("no energy per image on the page")


if __name__ == "__main__":
    main()
