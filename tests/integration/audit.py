#!/usr/bin/env python3
"""One of three phones flips bits: it is found out and quarantined, its answers are made again and
are what one device says, and an operator may pardon it.

  audit.py SHOAL MODEL
"""

import json
import subprocess
import sys

from cluster_processes import Cluster, wait_for
from replicas import TOKENS, ask, nodes

BROKEN = 3  # Its number in the cluster: the head is node 1.
PROMPTS = [f"{name}:" for name in ("ROMEO", "JULIET", "HAMLET", "KING", "QUEEN", "FIRST CITIZEN")]


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
        wrong = failed = asked = 0
        while cluster.state(BROKEN)["state"] != "quarantined":
            prompt = PROMPTS[asked % len(PROMPTS)]
            asked += 1
            assert asked < 60, "it is not found out"
            text = ask(cluster.http, prompt)
            failed += isinstance(text, dict)  # Told that it was wrong, and is made again.
            wrong += isinstance(text, str) and text != right[prompt]
        broken = cluster.state(BROKEN)
        assert "it made" in broken["reason"], broken
        assert wrong + failed > 0, "its bits changed nothing"
        # Without it everything is right again.
        for prompt in PROMPTS:
            assert ask(cluster.http, prompt) == right[prompt], prompt
        blamed = [n["id"] for n in nodes(cluster) if n["state"] == "quarantined"]
        assert blamed == [BROKEN], blamed
        cluster.restart_head()
        wait_for(lambda: cluster.state(BROKEN)["state"] == "quarantined", 30, "it to be remembered")
        cluster.run("nodes", "pardon", BROKEN, "--dir", cluster.root / "head")
        wait_for(lambda: cluster.state(BROKEN)["state"] == "up", 30, "it to be pardoned")
        print(f"found out after {asked} answers, {wrong} of them wrong and {failed} known to be: {broken['reason']}")
    except BaseException:
        cluster.log.flush()
        print((cluster.root / "log").read_text()[-4000:])
        raise
    finally:
        cluster.close()


if __name__ == "__main__":
    sys.exit(main())
