#!/usr/bin/env python3
"""A phone's battery runs low in a cluster of real processes: it is spared, then it rests and others
have its layers, the answer is the same, and it comes back. Operators may say something else.

  care.py SHOAL MODEL
"""

import subprocess
import sys
import time

from cluster_processes import Cluster, wait_for
from replicas import ask, nodes

SPARED = 2  # Its number in the cluster: the head is node 1.


class Phones(Cluster):
    """The first agent has a battery."""

    def start_agent(self, i, *invitation):
        if i == 1:
            self.battery(13)
            invitation = (*invitation, "--sensors", self.root / "sensors")
        super().start_agent(i, *invitation)
        # In this order they join, so that numbers are known.
        wait_for(lambda: self.health().get("nodes") == i, 60, f"agent {i}")

    def restart_agent(self):
        self.agents[1].kill()
        self.agents[1].wait()
        wait_for(lambda: self.spared()["state"] == "down", 60, "a cluster without it")
        super().start_agent(1, "--sensors", self.root / "sensors")

    def battery(self, percent, status="Discharging"):
        directory = self.root / "sensors/sys/class/power_supply/battery"
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in {"type": "Battery", "capacity": str(percent), "status": status,
                           "temp": "312", "voltage_now": "3800000"}.items():
            # Whole: a file that is being written is an empty one to whoever reads it.
            (directory / (name + ".new")).write_text(text + "\n")
            (directory / (name + ".new")).rename(directory / name)

    def nodes_command(self, *words):
        return subprocess.run([self.shoal, "nodes", *map(str, words), "--dir", self.root / "head"],
                              text=True, capture_output=True, check=False)

    def spared(self):
        return next(node for node in nodes(self) if node["id"] == SPARED)

    def wait_for_state(self, state, why):
        wait_for(lambda: self.spared()["state"] == state, 40, f"{state}, now {self.spared()}")
        assert why in (self.spared()["reason"] or ""), self.spared()

    def told(self, line):
        self.log.flush()
        return (self.root / "log").read_text().count(line)


def check_battery(cluster, right):
    cluster.wait_for_state("throttled", "battery 13 %, below 20 %, and not charging")
    assert ask(cluster.http, "ROMEO:") == right
    cluster.battery(9)
    cluster.wait_for_state("resting", "battery 9 %, floor 10 %")
    wait_for(lambda: cluster.spared()["replica"] is None, 30, "others with its layers")
    assert ask(cluster.http, "ROMEO:") == right
    cluster.battery(12, "Charging")
    time.sleep(1)
    assert cluster.spared()["state"] == "resting", cluster.spared()
    cluster.battery(16, "Charging")
    cluster.wait_for_state("throttled", "battery 16 %, below 20 %")
    cluster.battery(16)
    assert cluster.told("node 2 (node-1) rests: battery 9 %, floor 10 %") == 1
    assert cluster.told("out of order") == 0


def check_rules(cluster):
    done = cluster.nodes_command("set", SPARED, "--floor", 20, "--duty", 0.5)
    assert done.returncode == 0, done
    cluster.wait_for_state("resting", "battery 16 %, floor 20 %")
    cluster.restart_head()
    wait_for(lambda: cluster.health().get("nodes") == 3, 60, "the agents")
    cluster.wait_for_state("resting", "battery 16 %, floor 20 %")
    assert cluster.spared()["rules"] == {"duty": 0.5, "only_charging": None, "hours": None,
                                         "floor_percent": 20.0, "trusted": None}, cluster.spared()
    assert cluster.nodes_command("set", SPARED, "--floor", 0, "--only-charging").returncode == 0
    cluster.wait_for_state("resting", "not charging, and only then it is to work")
    now = time.localtime()
    other = f"{(now.tm_hour + 2) % 24}-{(now.tm_hour + 3) % 24}"
    done = cluster.nodes_command("set", SPARED, "--no-only-charging", "--hours", other)
    assert done.returncode == 0, done
    cluster.wait_for_state("resting", f"its hours are {other}")
    assert cluster.nodes_command("set", SPARED, "--hours", "always").returncode == 0
    cluster.wait_for_state("up", "")
    assert cluster.nodes_command("set", SPARED, "--clear").returncode == 0
    assert set(cluster.spared()["rules"].values()) == {None}, cluster.spared()
    cluster.nodes_command("drain", SPARED)
    cluster.wait_for_state("draining", "")
    cluster.restart_agent()
    cluster.wait_for_state("draining", "")
    assert cluster.spared()["replica"] is None, cluster.spared()
    assert cluster.nodes_command("undrain", SPARED).returncode == 0
    cluster.wait_for_state("throttled", "below 20 %")


def check_mistakes(cluster):
    for words, message in [
            (["set", SPARED], "say what is to hold: --duty"),
            (["set", SPARED, "--hours", "22"], "hours are written as 22-7"),
            (["set", SPARED, "--duty", "7"], "duty: from 0.01 to 1"),
            (["set", SPARED, "--floor", "100"], "floor_percent: from 0 to 90"),
            (["set", 77, "--duty", "1"], "node 77 is not a member")]:
        done = cluster.nodes_command(*words)
        assert done.returncode != 0 and message in done.stderr, done
    done = subprocess.run([cluster.shoal, "join", "--hours", "nine-five", "--dir",
                           cluster.root / "node-1"], text=True, capture_output=True, check=False)
    assert done.returncode != 0 and "--hours: hours are written as 22-7" in done.stderr, done


def main():
    shoal, model = sys.argv[1:]
    cluster = Phones(shoal, model, 3, ["--stages", "3"])
    try:
        wait_for(lambda: sum(node["replica"] is not None for node in nodes(cluster)) == 3, 60,
                 "a pipeline of three")
        right = ask(cluster.http, "ROMEO:")
        check_battery(cluster, right)
        check_rules(cluster)
        check_mistakes(cluster)
        assert ask(cluster.http, "ROMEO:") == right
    except BaseException:
        cluster.log.flush()
        print((cluster.root / "log").read_text(), file=sys.stderr)
        raise
    finally:
        cluster.close()
    print("spared, rested, back again")


if __name__ == "__main__":
    main()
