#!/usr/bin/env python3
"""Two pipelines side by side: both answer, and when a node of one is killed (-9) every answer is
still the text that one device gives.

  replicas.py SHOAL MODEL
"""

import http.client
import json
import sys
import threading

from cluster_processes import Cluster, wait_for

PROMPTS = ["ROMEO:", "JULIET:", "First Citizen:", "KING RICHARD:", "Now is the", "My lord,"]
TOKENS = 120


def ask(address, prompt):
    """The text of one answer, or the error."""
    connection = http.client.HTTPConnection(address, timeout=120)
    connection.request("POST", "/v1/completions", json.dumps(
        {"prompt": prompt, "max_tokens": TOKENS, "temperature": 0}))
    response = connection.getresponse()
    body = json.loads(response.read())
    return body["choices"][0]["text"] if response.status == 200 else body


def nodes(cluster):
    return json.loads(cluster.run("nodes", "ls", "--json", "--dir", cluster.root / "head"))["nodes"]


def pipelines(cluster):
    """Which nodes serve which replica."""
    groups = {}
    for node in nodes(cluster):
        if node["replica"] is not None:
            groups.setdefault(node["replica"], []).append(node)
    return groups


def both_busy(cluster):
    groups = pipelines(cluster)
    return len(groups) == 2 and all(group[0]["answers"] > 0 for group in groups.values())


def main():
    shoal, model = sys.argv[1:]
    # Slow links, so that there is time to look, and to kill.
    cluster = Cluster(shoal, model, 6, ["--stages", "3", "--delay-ms", "10"])
    try:
        wait_for(lambda: sorted(map(len, pipelines(cluster).values())) == [3, 3], 60,
                 "two pipelines of three nodes")
        right = {prompt: json.loads(cluster.run(
            "generate", "--model", model, "--prompt", prompt, "--tokens", TOKENS, "--temperature",
            "0", "--json"))["text"] for prompt in PROMPTS}
        wrong, killed = [], threading.Event()

        def client(prompt):
            """Asks until somebody has died, and then once more."""
            last = False
            while not last:
                last = killed.is_set()
                text = ask(cluster.http, prompt)
                if text != right[prompt]:
                    wrong.append(f"{prompt!r}\nalone:   {right[prompt]!r}\ncluster: {text!r}")

        threads = [threading.Thread(target=client, args=(prompt,)) for prompt in PROMPTS]
        for thread in threads:
            thread.start()
        try:
            wait_for(lambda: both_busy(cluster), 60, "answers in both pipelines")
            # The label is the name that its process was given.
            victim = pipelines(cluster)[2][1]["label"]
            cluster.agents[int(victim.removeprefix("node-"))].kill()
        finally:
            killed.set()
            for thread in threads:
                thread.join()
        if cluster.health().get("nodes") != 5:
            sys.exit(f"nobody was killed: {cluster.health()}")
    finally:
        cluster.close()
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(PROMPTS)} answers in two pipelines, one of which lost a node: the same texts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
