"""A cluster of real processes, for tests that do things to it."""

import http.client
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time


class Cluster:
    """A head and its agents; every process has a directory of its own."""

    def __init__(self, shoal, model, nodes, extra):
        self.shoal = shoal
        self.dir = tempfile.TemporaryDirectory(prefix="shoal-kill-")
        self.root = pathlib.Path(self.dir.name)
        self.log = open(self.root / "log", "w")
        self.agents = {}
        self.run("init", "--dir", self.root / "head")
        self.model, self.extra = model, extra
        addresses = self.start_head({name: "127.0.0.1:0" for name in ("cluster", "enrol", "http")})
        for i in range(1, nodes + 1):
            token = self.run("token", "--dir", self.root / "head", "--uses", "1", "--address",
                             addresses["enrol"], "--json")
            line = json.loads(token)
            self.start_agent(i, addresses["enrol"], line["token"])
        wait_for(lambda: self.health().get("nodes") == nodes, 60, "the agents")

    def run(self, *arguments):
        return subprocess.run([self.shoal, *map(str, arguments)], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def start(self, *arguments):
        return subprocess.Popen([self.shoal, *map(str, arguments)], stdout=self.log,
                                stderr=self.log)

    def start_head(self, addresses):
        serve = self.root / "head" / "serve.json"
        serve.unlink(missing_ok=True)
        self.head = self.start("serve", "--dir", self.root / "head", "--model", self.model,
                               "--listen", addresses["cluster"], "--enrol", addresses["enrol"],
                               "--http", addresses["http"], *self.extra)
        wait_for(serve.exists, 120, "the head")
        addresses = json.loads(serve.read_text())
        self.http = addresses["http"]
        return addresses

    def restart_head(self):
        """Killed, and started again at the same addresses."""
        addresses = json.loads((self.root / "head" / "serve.json").read_text())
        self.head.kill()
        self.head.wait()
        self.start_head(addresses)

    def start_agent(self, i, *invitation):
        self.agents[i] = self.start("join", *invitation, "--dir", self.root / f"node-{i}",
                                    "--name", f"node-{i}", "--listen", "127.0.0.1:0", "--threads",
                                    "1")

    def health(self):
        try:
            connection = http.client.HTTPConnection(self.http, timeout=5)
            connection.request("GET", "/health")
            return json.loads(connection.getresponse().read())
        except (OSError, ValueError):
            return {}

    def close(self):
        for process in [*self.agents.values(), self.head]:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        self.log.close()
        self.dir.cleanup()


def wait_for(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"{what}: not there after {seconds} s")
        time.sleep(0.05)
