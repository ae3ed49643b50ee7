#!/usr/bin/env python3
"""status_test.py SHOAL MODEL: what `shoal status` and `shoal doctor --cluster` say of a cluster of real
processes: who holds what and how fast, what an answer took, and which node is stopped or dead."""
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

from observed import Observed, wait_for

NODES = 3
WATTS = 4.0
# The third node says nothing about its power.
OPTIONS = [f"--node-options={i}=--watts {WATTS}" for i in (1, 2)]
GRID, PRICE = 400.0, 0.25


class Up:
    """`shoal up` in a directory, and what users type beside it."""

    def __init__(self, shoal, model, root):
        self.shoal, self.root = shoal, pathlib.Path(root)
        # Three parts, so that every node has some layers.
        self.process = Observed(
            [shoal, "up", "--dir", str(self.root), "--model", model, "--nodes", str(NODES), "--stages", "3",
             "--http", "127.0.0.1:0", *OPTIONS,
             f"--serve=--threads 1 --guesses 0 --grid {GRID} --price {PRICE} --currency CHF"],
            self.root.with_suffix(".log"))
        self.process.wait_for(f"node-{NODES} is process")
        self.http = json.loads((self.root / "head/serve.json").read_text())["http"]
        wait_for(lambda: len(self.status()["replicas"][0]["stages"]) == NODES, 120, "a pipeline of all nodes",
                 self.process.log)

    def pid(self, name):
        return int(self.process.lines(f"^{name} is process")[0].split()[-1])

    def get(self, path, body=None):
        connection = http.client.HTTPConnection(self.http, timeout=60)
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None)
        response = connection.getresponse()
        return response.status, response.read().decode()

    def run(self, *arguments):
        return subprocess.run([self.shoal, *arguments, "--dir", str(self.root / "head")], text=True,
                              capture_output=True, timeout=60, check=False)

    def status(self):
        done = self.run("status", "--json")
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    def close(self):
        for line in self.process.lines(" is process "):
            try:
                os.kill(int(line.split()[-1]), signal.SIGCONT)
            except ProcessLookupError:
                pass
        self.process.process.terminate()
        self.process.process.wait()


def long_answer(cluster, usage):
    """Asks for as many tokens as the context has room for; what it took is put into `usage`."""
    code, body = cluster.get("/v1/chat/completions", {
        "messages": [{"role": "user", "content": "Good morrow."}], "seed": 1, "max_tokens": 400})
    assert code == 200, body
    answer = json.loads(body)
    usage.update(answer["usage"], id=answer["id"])


def while_an_answer_runs(cluster):
    """Layers, speeds and power of all nodes; then what the answer took."""
    for _ in range(20):  # The model may end its answer too soon to be watched.
        usage, seen = {}, []
        asker = threading.Thread(target=long_answer, args=(cluster, usage))
        asker.start()
        while asker.is_alive():
            seen.append(cluster.status())
        asker.join()
        busy = [report for report in seen if report["health"]["answers_running"] > 0
                and report["replicas"][0]["tokens_per_second"] > 0]
        if busy:
            break
    assert busy, "no answer was seen running"
    report = busy[-1]
    layers = sorted((node["layer_begin"], node["layer_end"]) for node in report["nodes"])
    assert layers[0][0] == 0 and layers[-1][1] == report["layers"], layers
    assert all(a[1] == b[0] for a, b in zip(layers, layers[1:])), layers
    assert all(node["state"] == "up" and node["rows_per_second"] > 0 for node in report["nodes"]), report
    assert [stage["layer_begin"] for stage in report["replicas"][0]["stages"]] == [a for a, _ in layers]
    assert report["replicas"][0]["predicted_tokens_per_second"] > 0
    return usage


def check_energy(cluster, usage):
    energy = usage["energy"]
    # The third node tells nothing: figures say how much of the work they cover.
    assert energy["estimated"] is True and 0 < energy["covered"] < 1, energy
    assert 0 < energy["wh"] < 1 and abs(energy["gco2e"] / (energy["wh"] * GRID / 1000) - 1) < 1e-3, energy
    joules = energy["joules_per_token"] * usage["completion_tokens"]
    assert abs(joules / (energy["wh"] * 3600) - 1) < 1e-3, usage
    code, body = cluster.get(f"/v1/answers/{usage['id']}")
    assert code == 200 and json.loads(body)["usage"]["energy"] == energy, body
    report = cluster.status()
    by_label = {node["label"]: node for node in report["nodes"]}
    for name in ("node-1", "node-2"):
        node = by_label[name]
        assert node["watts"] == WATTS and node["watts_estimated"] and node["wh_today"] > 0, node
        assert node["joules_per_token"] > 0 and 0 < node["wh_idle_today"] < node["wh_today"], node
        assert node["wh_today_estimated"] and node["joules_per_token_estimated"], node
        assert abs(node["gco2e_today"] / (node["wh_today"] * GRID / 1000) - 1) < 1e-3, node
    silent = by_label["node-3"]
    assert all(silent[name] is None for name in ("watts", "joules_per_token", "wh_today", "gco2e_today")), silent
    cluster_energy = report["energy"]
    assert cluster_energy["watts"] == 2 * WATTS and cluster_energy["nodes_unknown"] == 1, cluster_energy
    assert cluster_energy["estimated"] and 0 < cluster_energy["covered"] < 1, cluster_energy
    cost = cluster_energy["joules_per_token"] * 1e6 / 3.6e6 * PRICE
    assert abs(cluster_energy["cost_per_million_tokens"] / cost - 1) < 1e-3, cluster_energy
    assert cluster_energy["currency"] == "CHF" and cluster_energy["watts_estimated"], cluster_energy
    day = cluster_energy["days"][-1]
    assert day["date"] == cluster_energy["today"] and day["estimated"] and day["joules_per_token"] > 0, day
    assert abs(day["gco2e"] / (day["wh"] * GRID / 1000) - 1) < 1e-3 and 0 < day["covered"] < 1, day


def check_words(cluster):
    done = cluster.run("status")  # Not a terminal: once, and plain.
    assert done.returncode == 0 and "\x1b" not in done.stdout, done
    for words in ("3 of 3 nodes here", "replica 1:", "CHF a million tokens", "~ is estimated",
                  "the head is not counted", "g CO2e", "events"):
        assert words in done.stdout, f"no {words!r} in\n{done.stdout}"
    assert max(map(len, done.stdout.splitlines())) <= 120
    assert nobody_is_down(cluster)


def nobody_is_down(cluster):
    """On a machine that does other things, too, nodes may be slow, and are then sick."""
    done = cluster.run("doctor", "--cluster")
    assert done.stderr == "", done
    well = done.stdout == "All 3 nodes are well.\n"
    assert well == (done.returncode == 0), done
    return well or " down for " not in done.stdout


def names_the_sick(cluster, label, words):
    def named():
        done = cluster.run("doctor", "--cluster")
        lines = [line for line in done.stdout.splitlines() if f"({label})" in line]
        return done.returncode == 1 and any(re.search(words, line) for line in lines)
    wait_for(named, 30, f"{label} among the sick", cluster.process.log)
    assert f"({label})" in cluster.run("status").stdout


def main():
    shoal, model = map(os.path.abspath, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as directory:
        cluster = Up(shoal, model, f"{directory}/up")
        try:
            usage = while_an_answer_runs(cluster)
            check_energy(cluster, usage)
            check_words(cluster)
            os.kill(cluster.pid("node-2"), signal.SIGSTOP)
            names_the_sick(cluster, "node-2", r"has been down for \d+ s: .*silent for")
            os.kill(cluster.pid("node-2"), signal.SIGCONT)
            wait_for(lambda: nobody_is_down(cluster), 30, "all here again", cluster.process.log)
            os.kill(cluster.pid("node-3"), signal.SIGKILL)
            names_the_sick(cluster, "node-3", r"has been down for \d+ s: ")
            events = [event["text"] for event in cluster.status()["events"]]
            assert any(re.search("is gone: .*silent for", text) for text in events), events
            found = json.loads(cluster.run("doctor", "--cluster", "--json").stdout)["findings"]
            assert any("node-3" in finding["who"] for finding in found), found
        except BaseException:
            print(cluster.process.log.read_text())
            raise
        finally:
            cluster.close()
    done = subprocess.run([shoal, "status", "--dir", "nowhere"], text=True, capture_output=True, check=False)
    assert done.returncode == 1 and "there is no cluster in" in done.stderr, done
    print(f"status: ok; an answer of {usage['completion_tokens']} tokens took {usage['energy']}")


if __name__ == "__main__":
    main()
