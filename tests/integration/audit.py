#!/usr/bin/env python3
"""One of three phones flips bits: it is found out and quarantined, its answers are made again and
are what one device says, and an operator may pardon it.

  audit.py SHOAL MODEL
"""

import http.client
import json
import subprocess
import sys

from cluster_processes import Cluster, wait_for
from replicas import TOKENS, nodes

BROKEN = 3  # Its number in the cluster: the head is node 1.
PROMPTS = [f"{name}:" for name in ("ROMEO", "JULIET", "HAMLET", "KING", "QUEEN", "FIRST CITIZEN")]


def request(address, method, path, body=None):
    connection = http.client.HTTPConnection(address, timeout=120)
    connection.request(method, path, body)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def ask(address, prompt):
    """The answer, or the error."""
    return request(address, "POST", "/v1/completions", json.dumps(
        {"prompt": prompt, "max_tokens": TOKENS, "temperature": 0}))[1]


class Phones(Cluster):
    """The second agent has broken memory."""

    def start_agent(self, i, *invitation):
        if i == BROKEN - 1:
            invitation = (*invitation, "--flip", "0.05")
        super().start_agent(i, *invitation)
        # In this order they join, so that numbers are known.
        wait_for(lambda: self.health().get("nodes") == i, 60, f"agent {i}")

    def state(self, node):
        return next(n for n in nodes(self) if n["id"] == node)


def main():
    shoal, model = sys.argv[1:3]
    right = {}
    for prompt in PROMPTS:
        right[prompt] = json.loads(subprocess.run(
            [shoal, "generate", "--model", model, "--prompt", prompt, "--tokens", str(TOKENS),
             "--temperature", "0", "--json"], check=True, stdout=subprocess.PIPE).stdout)["text"]
    cluster = Phones(shoal, model, 3, ["--stages", "3", "--audit", "60%"])
    try:
        wait_for(lambda: len([n for n in nodes(cluster) if n["replica"]]) == 3, 60, "three stages")
        answers, failed = {}, 0
        while cluster.state(BROKEN)["state"] != "quarantined":
            prompt = PROMPTS[(len(answers) + failed) % len(PROMPTS)]
            assert len(answers) + failed < 60, "it is not found out"
            answer = ask(cluster.http, prompt)
            if "error" in answer:
                failed += 1  # Told that it was wrong, and is made again.
            else:
                answers[answer["id"]] = prompt
        broken = cluster.state(BROKEN)
        assert "it made" in broken["reason"], broken
        # What it had a part in is made again without it, and is right then.
        again = 0
        for name, prompt in answers.items():
            def current():
                return request(cluster.http, "GET", f"/v1/answers/{name}")[1]
            wait_for(lambda: current()["choices"][0]["finish_reason"] is not None, 60, name)
            if current()["usage"].get("recomputed"):
                again += 1
                assert current()["choices"][0]["text"] == right[prompt], current()
        assert again + failed > 0, "nothing was made again"
        # Without it everything is right.
        for prompt in PROMPTS:
            assert ask(cluster.http, prompt)["choices"][0]["text"] == right[prompt], prompt
        blamed = [n["id"] for n in nodes(cluster) if n["state"] == "quarantined"]
        assert blamed == [BROKEN], blamed
        cluster.restart_head()
        wait_for(lambda: cluster.state(BROKEN)["state"] == "quarantined", 30, "it to be remembered")
        cluster.run("nodes", "pardon", BROKEN, "--dir", cluster.root / "head")
        wait_for(lambda: cluster.state(BROKEN)["state"] == "up", 30, "it to be pardoned")
        print(f"found out after {len(answers) + failed} answers, {again} made again, {failed} ended with an "
              f"error: {broken['reason']}")
    except BaseException:
        cluster.log.flush()
        print((cluster.root / "log").read_text()[-4000:])
        raise
    finally:
        cluster.close()


if __name__ == "__main__":
    sys.exit(main())
