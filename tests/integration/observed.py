"""Real processes of a cluster, each with its own output, for tests that read what users read."""

import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import time


class Observed:
    """A process that runs; what it says on both streams is in a file."""

    def __init__(self, command, log, environment=None):
        self.log = log
        with open(log, "w") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out,
                                            env={**os.environ, **(environment or {})})

    def lines(self, pattern=""):
        return [line for line in self.log.read_text().splitlines() if re.search(pattern, line)]

    def wait_for(self, pattern, seconds=60):
        """The line that has `pattern` in it."""
        wait_for(lambda: self.lines(pattern) or self.process.poll() is not None, seconds,
                 f"{pattern!r} in {self.log.name}", self.log)
        assert self.lines(pattern), f"it ended without {pattern!r}: {self.log.read_text()}"
        return self.lines(pattern)[0]

    def stop(self):
        self.process.kill()
        self.process.wait()


class Place:
    """A directory with a head and some nodes in it, all of which end with it."""

    def __init__(self, shoal, model, root):
        self.shoal, self.model, self.root = shoal, model, pathlib.Path(root)
        self.running = []
        self.addresses = {name: "127.0.0.1:0" for name in ("cluster", "enrol", "http")}
        self.must_work("init", "--dir", self.root / "head")

    def run(self, *arguments, environment=None):
        return subprocess.run([self.shoal, *map(str, arguments)], capture_output=True, text=True,
                              timeout=120, check=False, env={**os.environ, **(environment or {})})

    def must_work(self, *arguments, environment=None):
        done = self.run(*arguments, environment=environment)
        assert done.returncode == 0, done
        return done.stdout

    def must_fail(self, words, *arguments):
        """It ends with 1 and one line, which has all of `words`."""
        done = self.run(*arguments)
        assert done.returncode == 1, done
        said = [line for line in re.split(r"[\r\n]+", done.stderr) if line and "preparing" not in line]
        assert len(said) == 1 and said[0].startswith("shoal: "), said
        missing = [word for word in words if word not in said[0]]
        assert not missing, f"does not say {missing}: {said[0]}"
        return said[0]

    def start(self, name, *arguments, environment=None):
        observed = Observed([self.shoal, *map(str, arguments)], self.root / f"{name}.log",
                            environment)
        self.running.append(observed)
        return observed

    def serve(self, *options, environment=None):
        """The head, when it listens; where it did before, if it did."""
        self.head = self.start("head", "serve", "--dir", self.root / "head", "--model", self.model,
                               "--listen", self.addresses["cluster"], "--enrol", self.addresses["enrol"],
                               "--http", self.addresses["http"], "--threads", "1", *options,
                               environment=environment)
        self.head.wait_for("answers at")
        self.addresses = json.loads((self.root / "head" / "serve.json").read_text())
        return self.head

    def token(self, *options, environment=None):
        return json.loads(self.must_work("token", "--dir", self.root / "head", "--json", *options,
                                         environment=environment))["token"]

    def join(self, name, *options, directory=None, environment=None, token=None):
        """A node that has joined and runs."""
        node = self.start(name, "join", self.addresses["enrol"], token or self.token(), "--dir",
                          directory or self.root / name, "--listen", "127.0.0.1:0", "--threads", "1",
                          *options, environment=environment)
        node.wait_for("joined as node")
        return node

    def again(self, name, environment=None):
        return self.start(name, "join", "--dir", self.root / name, "--listen", "127.0.0.1:0",
                          "--threads", "1", environment=environment)

    def health(self):
        connection = http.client.HTTPConnection(self.addresses["http"], timeout=10)
        connection.request("GET", "/health")
        return json.loads(connection.getresponse().read())

    def answer(self):
        """A short one; fails unless the cluster works."""
        wait_for(lambda: self.health()["status"] == "ok", 60, "a pipeline", self.head.log)
        connection = http.client.HTTPConnection(self.addresses["http"], timeout=60)
        connection.request("POST", "/v1/completions",
                           json.dumps({"prompt": "ROMEO:", "max_tokens": 5, "temperature": 0}))
        response = connection.getresponse()
        body = response.read().decode()
        assert response.status == 200, body
        return json.loads(body)["choices"][0]["text"]

    def close(self):
        for observed in self.running:
            observed.stop()


def wait_for(condition, seconds, what, log):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"{what}: not there after {seconds} s\n{log.read_text()}")
        time.sleep(0.05)
