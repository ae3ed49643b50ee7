#!/usr/bin/env python3
"""membership_test.py SHOAL...: init, token and join as users type them."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = [os.path.abspath(part) if os.path.exists(part) else part for part in sys.argv[1:]]


def run(*arguments, home):
    environment = {**os.environ, "HOME": str(home)}
    environment.pop("SHOAL_HOME", None)
    return subprocess.run([*PROGRAM, *arguments], env=environment, capture_output=True, text=True,
                          timeout=120, check=False)


def must_fail(done, *words):
    assert done.returncode == 1, done
    assert done.stderr.startswith("shoal: ") and done.stderr.count("\n") == 1, done.stderr
    missing = [word for word in words if word not in done.stderr]
    assert not missing, f"does not say {missing}: {done.stderr}"


def main():
    with tempfile.TemporaryDirectory() as directory:
        home = pathlib.Path(directory)
        must_fail(run("token", home=home), "there is no cluster in", "shoal init")
        assert "node 1" in run("init", "--name", "attic", home=home).stdout
        must_fail(run("init", home=home), "already holds a cluster")
        files = {path.name: path.stat().st_mode & 0o777 for path in (home / ".shoal").iterdir()}
        assert {"ca.key", "node.key", "admin.key", "nodes.json", "tokens.json"} <= files.keys(), files
        assert set(files.values()) == {0o600}, files
        assert (home / ".shoal").stat().st_mode & 0o777 == 0o700

        told = run("token", "--address", "192.168.1.5:7401", "--uses", "3", home=home).stdout
        assert "  shoal join 192.168.1.5:7401 SHOAL1-" in told and "3 devices within 60 minutes" in told, told
        token = told.split("192.168.1.5:7401 ")[1].split()[0]
        made = json.loads(run("token", "--address", "[::1]:7401", "--json", home=home).stdout)
        assert made["uses"] == 1 and made["addresses"] == ["[::1]:7401"] and made["token"] != token
        known = json.loads((home / ".shoal/tokens.json").read_text())["tokens"]
        assert [entry["uses_left"] for entry in known] == [3, 1], known
        addresses = run("token", home=home)  # This machine's own, if it has any.
        assert "shoal join" in addresses.stdout or "in no network" in addresses.stderr, addresses

        must_fail(run("join", "127.0.0.1:1", token, home=home), "holds a cluster of its own", "--dir")
        phone = home / "phone"
        must_fail(run("join", "127.0.0.1:1", token, "--dir", str(phone), home=home), "Connection refused",
                  "shoal serve")
        must_fail(run("join", "127.0.0.1:1", "--dir", str(phone), home=home), "the join token is missing",
                  "shoal token")
        must_fail(run("join", "127.0.0.1:1", token[:-1], "--dir", str(phone), home=home),
                  "not a whole join token", "55 of 56 letters")
        must_fail(run("join", "attic:7401", token, "--dir", str(phone), home=home), "attic:7401")
        must_fail(run("join", "--dir", str(phone), home=home), "has not joined a cluster")

        (home / ".shoal/nodes.json").write_text("{")
        must_fail(run("token", home=home), "nodes.json is damaged", "restore it")
    print("membership: ok")


if __name__ == "__main__":
    main()
