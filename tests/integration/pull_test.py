#!/usr/bin/env python3
"""`shoal pull` against real servers on this machine: pull_test.py PROGRAM [a test's name...]"""
import hashlib
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

from pull_server import File, Site, add_repository

PROGRAM = []
MODEL = b"GGUF" + random.Random(1).randbytes(3_000_000)
OTHER = b"GGUF" + random.Random(2).randbytes(2_500_000)
SECONDS_MAX = 120


def sha(data):
    return hashlib.sha256(data).hexdigest()


class Run:
    """The program's exit, in a folder of its own that may have been used before."""

    def __init__(self, folder, *arguments, env=None, **popen):
        base = {key: value for key, value in os.environ.items()
                if key not in ("HF_TOKEN", "HF_ENDPOINT", "SSL_CERT_FILE", "PREFIX")}
        self.process = subprocess.Popen(
            [*PROGRAM, "pull", "--retry-wait", "0.05", *arguments], cwd=folder, env={**base, **(env or {})},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen)

    def wait(self):
        self.out, self.err = self.process.communicate(timeout=SECONDS_MAX)
        self.code = self.process.returncode
        return self

    def must_fail(self, *words):
        self.wait()
        assert self.code == 1, (self.code, self.err)
        last = self.err.strip()
        assert last.splitlines()[-1].startswith("shoal: ") or len(words) > 0, last
        missing = [word for word in words if word not in last]
        assert not missing, f"does not say {missing}: {last}"

    def must_succeed(self):
        self.wait()
        assert self.code == 0, (self.code, self.err)
        return self.out


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in pathlib.Path(folder).rglob("*") if path.is_file()}


def holds(folder, **files):
    got = content(folder)
    want = {name.replace("__", "."): data for name, data in files.items()}
    assert got == want, {name: len(data) for name, data in got.items()}


def pull_once(folder, file, *arguments, path="/m.gguf"):
    """Pulls `file` from a server that has only it, and expects it to arrive."""
    with Site({path: file}) as site:
        Run(folder, site.url + path, *arguments).must_succeed()


# --- one file by URL ---

def test_plain(folder):
    with Site({"/a/m.gguf?x=1": File(MODEL)}) as site:
        out = Run(folder, site.url + "/a/m.gguf?x=1", "--json").must_succeed()
        done = json.loads(out)["files"][0]
        assert done == {"path": "m.gguf", "bytes": len(MODEL), "sha256": sha(MODEL), "verified": False,
                        "already_there": False}, done
        holds(folder, m__gguf=MODEL)
        Run(folder, site.url + "/a/m.gguf?x=1").must_fail("m.gguf is there already", "--force")
        Run(folder, site.url + "/a/m.gguf?x=1", "--force").must_succeed()
        assert "was there already" in Run(
            folder, site.url + "/a/m.gguf?x=1", "--sha256", sha(MODEL).upper()).must_succeed()


def test_chunked(folder):
    pull_once(folder, File(MODEL, chunked=True))
    holds(folder, m__gguf=MODEL)


def test_empty_file(folder):
    pull_once(folder, File(b""), path="/empty.bin")
    holds(folder, empty__bin=b"")


def test_into_a_folder(folder):
    (folder / "models").mkdir()
    pull_once(folder, File(MODEL), "--out", "models")
    assert content(folder) == {"models/m.gguf": MODEL}


def test_cut_connections_are_resumed(folder):
    file = File(MODEL, cut=[1_000_000, 500_000, 0, 700_000])
    pull_once(folder, file, "--sha256", sha(MODEL))
    assert [headers.get("Range") for headers in file.asked] == [
        None, "bytes=1000000-", "bytes=1500000-", "bytes=1500000-", "bytes=2200000-"], file.asked
    holds(folder, m__gguf=MODEL)


def test_a_server_that_ignores_ranges(folder):
    pull_once(folder, File(MODEL, ranges=False, cut=[1_000_000, 2_000_000]))
    holds(folder, m__gguf=MODEL)


def test_gives_up_without_progress(folder):
    with Site({"/m.gguf": File(MODEL, cut=[1000, 0, 0, 0])}) as site:
        Run(folder, site.url + "/m.gguf", "--retries", "3").must_fail("/m.gguf", "hung up")
        assert content(folder)["m.gguf.part"] == MODEL[:1000]
        assert len(site.files["/m.gguf"].asked) == 4
        Run(folder, site.url + "/m.gguf").must_succeed()
    holds(folder, m__gguf=MODEL)


def test_killed_and_resumed(folder):
    event = threading.Event()
    file = File(MODEL, pause=(1_500_000, event))
    with Site({"/m.gguf": file}) as site:
        run = Run(folder, site.url + "/m.gguf")
        part = folder / "m.gguf.part"
        for _ in range(600):
            if part.exists() and part.stat().st_size == 1_500_000:
                break
            time.sleep(0.05)
        # Nobody else may write it meanwhile.
        Run(folder, site.url + "/m.gguf").must_fail("another process is writing it")
        run.process.send_signal(signal.SIGKILL)
        run.wait()
        event.set()
        assert set(content(folder)) == {"m.gguf.part", "m.gguf.part.json"}, content(folder).keys()
        file.pause = None
        Run(folder, site.url + "/m.gguf", "--sha256", sha(MODEL)).must_succeed()
    assert file.asked[-1]["Range"] == "bytes=1500000-"
    holds(folder, m__gguf=MODEL)


def test_complete_part_needs_no_bytes(folder):
    file = File(MODEL, cut=[1000])
    with Site({"/m.gguf": file}) as site:
        Run(folder, site.url + "/m.gguf", "--retries", "0").must_fail("hung up")
        (folder / "m.gguf.part").write_bytes(MODEL)
        Run(folder, site.url + "/m.gguf").must_succeed()  # The server answers 416.
    assert file.asked[-1]["Range"] == f"bytes={len(MODEL)}-"
    holds(folder, m__gguf=MODEL)


def test_changed_file_starts_over(folder):
    with Site({"/m.gguf": File(MODEL, cut=[1_000_000])}) as site:
        Run(folder, site.url + "/m.gguf", "--retries", "0").must_fail("hung up")
        site.files["/m.gguf"] = File(OTHER)
        Run(folder, site.url + "/m.gguf").must_succeed()
    holds(folder, m__gguf=OTHER)


def test_shorter_file_starts_over(folder):
    short = b"GGUF" + bytes(100)
    with Site({"/m.gguf": File(MODEL, cut=[1_000_000])}) as site:
        Run(folder, site.url + "/m.gguf", "--retries", "0").must_fail("hung up")
        # The old ETag: only the 416 tells.
        site.files["/m.gguf"] = File(short, etag=site.files["/m.gguf"].etag)
        Run(folder, site.url + "/m.gguf").must_succeed()
    holds(folder, m__gguf=short)


def test_broken_sidecar_starts_over(folder):
    (folder / "m.gguf.part").write_bytes(b"rubbish")
    (folder / "m.gguf.part.json").write_text("{")
    pull_once(folder, File(MODEL))
    holds(folder, m__gguf=MODEL)


def test_wrong_hash(folder):
    with Site({"/m.gguf": File(MODEL)}) as site:
        Run(folder, site.url + "/m.gguf", "--sha256", sha(OTHER)).must_fail(sha(MODEL), sha(OTHER), "m.gguf.wrong")
        holds(folder, m__gguf__wrong=MODEL)
        Run(folder, site.url + "/m.gguf", "--sha256", "abc").must_fail("64 hexadecimal digits")


def test_hash_of_a_redirect(folder):
    headers = {"X-Linked-Etag": f'"{sha(OTHER)}"'}
    with Site({"/m.gguf": File(location="/cdn", headers=headers), "/cdn": File(MODEL)}) as site:
        Run(folder, site.url + "/m.gguf").must_fail("SHA-256", sha(OTHER))


def test_not_a_model(folder):
    with Site({"/m.gguf": File(b"<html>Please log in</html>")}) as site:
        Run(folder, site.url + "/m.gguf").must_fail("not a GGUF file")
    holds(folder)


# --- errors of servers ---

def test_trouble_that_passes(folder):
    pull_once(folder, File(MODEL, statuses=[503, 429, 500]))
    holds(folder, m__gguf=MODEL)


def test_statuses(folder):
    for status, word in ((401, "HF_TOKEN"), (403, "licence"), (404, "not found"), (429, "later"), (503, "later"),
                         (500, "later"), (418, "418"), (304, "304"), (206, "206")):
        with Site({"/m.gguf": File(statuses=[status] * 9)}) as site:
            Run(folder, site.url + "/m.gguf", "--retries", "2").must_fail(site.url + "/m.gguf", str(status), word)
            assert len(site.files["/m.gguf"].asked) == (3 if status in (429, 503, 500) else 1), status
    holds(folder)


def test_patience_has_an_end(folder):
    with Site({"/m.gguf": File(statuses=[429] * 9, headers={"Retry-After": "3600"})}) as site:
        Run(folder, site.url + "/m.gguf").must_fail("429")
        assert len(site.files["/m.gguf"].asked) == 1


def test_redirects(folder):
    with Site() as cdn, Site() as site:
        cdn.files["/f?sig=1"] = File(MODEL)
        site.files["/a/m.gguf"] = File(location="../b")
        site.files["/a/../b"] = File(location="/c")
        site.files["/c"] = File(location=cdn.url + "/f?sig=1")
        Run(folder, site.url + "/a/m.gguf").must_succeed()
        site.files["/c"] = File(location="/a/m.gguf")
        Run(folder, site.url + "/a/m.gguf", "--out", "x").must_fail("more than 10 redirects")
        site.files["/c"] = File(location="ftp://h/x")
        Run(folder, site.url + "/a/m.gguf", "--out", "x").must_fail("ftp://h/x")
    holds(folder, m__gguf=MODEL)


def test_nonsense(folder):
    for raw, word in ((b"SSH-2.0-OpenSSH_9.2\r\n", "HTTP"), (b"", "hung up"), (b"HTTP/1.1 200 OK\r\n", "hung up"),
                      (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n", "headers"),
                      (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 30_000 + b"\r\n", "headers"),
                      (b"HTTP/1.1 200 OK\r\n\r\nGGUF", "how much"),
                      (b"HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nGGUF", "HTTP"),
                      (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nGGUF", "compresses"),
                      (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nGGUF", "HTTP")):
        with Site({"/m.gguf": File(raw=raw)}) as site:
            Run(folder, site.url + "/m.gguf", "--retries", "0").must_fail(site.url + "/m.gguf", word)
    assert not (folder / "m.gguf").exists()


def test_silence(folder):
    event = threading.Event()
    with Site({"/m.gguf": File(MODEL, pause=(1000, event))}) as site:
        Run(folder, site.url + "/m.gguf", "--retries", "0", "--silence", "0.3").must_fail("no answer in time")
        event.set()
    assert content(folder)["m.gguf.part"] == MODEL[:1000]


def test_unreachable(folder):
    Run(folder, "http://127.0.0.1:1/m.gguf", "--retries", "1").must_fail(
        "refused", "curl -L -C - -o 'm.gguf' 'http://127.0.0.1:1/m.gguf'")
    Run(folder, "https://no-server.example/m.gguf", "--dns", "127.0.0.1:1", "--retries", "0").must_fail(
        "no-server.example", "127.0.0.1:1", "curl -L -C -")
    Run(folder, "http://user:pw@h/m.gguf").must_fail("password")
    Run(folder, "http://127.0.0.1:1/", "--retries", "0").must_fail("--out")
    holds(folder)


# --- the disk ---

def test_no_room(folder):
    with Site({"/m.gguf": File(MODEL, claim=10 ** 15)}) as site:
        Run(folder, site.url + "/m.gguf").must_fail("m.gguf", "1000000.00 GB", "room")
    holds(folder)


def test_full_disk(folder):
    if len(PROGRAM) > 1:
        return  # The limit would be an emulator's.
    with Site({"/m.gguf": File(MODEL)}) as site:
        limit = 1_000_000
        Run(folder, site.url + "/m.gguf", restore_signals=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            ).must_fail("m.gguf.part", "file too large", "kept")
        assert content(folder)["m.gguf.part"] == MODEL[:limit]
        Run(folder, site.url + "/m.gguf").must_succeed()
    holds(folder, m__gguf=MODEL)


def test_unwritable(folder):
    with Site({"/m.gguf": File(MODEL)}) as site:
        Run(folder, site.url + "/m.gguf", "--out", "nowhere/m.gguf").must_fail("nowhere/m.gguf.part")
        (folder / "m.gguf.part").mkdir()
        Run(folder, site.url + "/m.gguf").must_fail("m.gguf.part")


# --- https ---

def certificate(folder, name, subject, *extensions):
    """A certificate that signs itself: (certificate, key)."""
    files = (str(folder / f"{name}.pem"), str(folder / f"{name}.key"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-subj", f"/CN={subject}", "-days", "2", "-out", files[0], "-keyout", files[1],
                    *(part for extension in extensions for part in ("-addext", extension))],
                   check=True, capture_output=True)
    return files


def test_tls(folder):
    keys, work = folder / "keys", folder / "work"
    keys.mkdir(), work.mkdir()
    good = certificate(keys, "good", "good", "subjectAltName=IP:127.0.0.1,DNS:localhost")
    other = certificate(keys, "other", "other", "subjectAltName=IP:127.0.0.2,DNS:elsewhere")
    with Site({"/m.gguf": File(MODEL, cut=[100_000])}, certificate=good) as site:
        url = site.url + "/m.gguf"
        Run(work, url).must_fail("certificate", url)
        Run(work, url, "--ca", other[0]).must_fail("certificate", "self-signed")
        Run(work, url, "--ca", str(keys / "none.pem")).must_fail("none.pem")
        Run(work, url, env={"SSL_CERT_FILE": good[0]}).must_succeed()
        Run(work, f"https://localhost:{site.port}/m.gguf", "--ca", good[0], "--out", "n").must_succeed()
        Run(work, f"http://127.0.0.1:{site.port}/m.gguf", "--out", "o", "--retries", "0").must_fail("m.gguf")
        site.files["/down"] = File(location="http://127.0.0.1:1/m.gguf")
        Run(work, site.url + "/down", "--ca", good[0]).must_fail("not encrypted")
    holds(work, m__gguf=MODEL, n=MODEL)
    with Site({"/m.gguf": File(MODEL)}, certificate=other) as site:
        Run(work, site.url + "/m.gguf", "--ca", other[0], "--out", "x").must_fail("IP address mismatch")
        Run(work, f"https://localhost:{site.port}/m.gguf", "--ca", other[0], "--out", "x").must_fail("hostname mismatch")
    with Site({"/m.gguf": File(MODEL)}) as site:
        Run(work, f"https://127.0.0.1:{site.port}/m.gguf", "--ca", good[0], "--out", "x").must_fail("TLS")


# --- Hugging Face ---

QUANTS = {"README.md": b"hello", "m-Q4_K_M.gguf": MODEL, "m-Q8_0.gguf": OTHER,
          "f16/m-f16-00001-of-00002.gguf": MODEL, "f16/m-f16-00002-of-00002.gguf": OTHER}


def test_repository(folder):
    with Site() as site:
        add_repository(site, "o/n", QUANTS, pages=3)
        Run(folder, "o/n:q4_k_m", "--endpoint", site.url).must_succeed()
        Run(folder, "o/n:Q8_0", "--out", "x.gguf", env={"HF_ENDPOINT": site.url + "/"}).must_succeed()
        Run(folder, "o/n", "--endpoint", site.url).must_fail("m-Q8_0.gguf", "2.5 MB", "(2 parts)",
                                                             "for example: shoal pull o/n:Q4_K_M")
        Run(folder, "o/n:Q2_K", "--endpoint", site.url).must_fail("Q2_K", "m-Q8_0.gguf")
        Run(folder, "o/other", "--endpoint", site.url).must_fail("404")
        Run(folder, "o/n:f16", "--endpoint", site.url).must_succeed()
        assert "already" in Run(folder, "o/n:f16", "--endpoint", site.url).must_succeed()
        # A link as it is on the page of the file.
        Run(folder, site.url + "/o/n/blob/main/m-Q8_0.gguf", "--endpoint", site.url).must_succeed()
    assert content(folder) == {"m-Q4_K_M.gguf": MODEL, "m-Q8_0.gguf": OTHER, "x.gguf": OTHER,
                               "m-f16/m-f16-00001-of-00002.gguf": MODEL,
                               "m-f16/m-f16-00002-of-00002.gguf": OTHER}


def test_safetensors(folder):
    parts = {"config.json": b"{}", "tokenizer.json": b"{ }", "model.safetensors.index.json": b"{  }",
             "model-00001-of-00002.safetensors": MODEL, "model-00002-of-00002.safetensors": OTHER}
    with Site() as site:
        add_repository(site, "o/n", {**parts, "README.md": b"hello", "onnx/config.json": b"?"})
        site.files["/o/n/resolve/main/model-00002-of-00002.safetensors"].cut = [500_000]
        Run(folder, "o/n", "--endpoint", site.url, "--retries", "0").must_fail("00002.safetensors", "hung up")
        Run(folder, "o/n", "--endpoint", site.url).must_succeed()
    assert content(folder) == {"n/" + name: data for name, data in parts.items()}


def test_repository_that_lies(folder):
    with Site() as site:
        add_repository(site, "o/n", {"m.gguf": MODEL})
        site.files["/o/n/resolve/main/m.gguf"] = File(OTHER)
        Run(folder, "o/n", "--endpoint", site.url).must_fail("expected", str(len(MODEL)))
        site.files["/o/n/resolve/main/m.gguf"] = File(OTHER + bytes(len(MODEL) - len(OTHER)))
        Run(folder, "o/n", "--endpoint", site.url).must_fail("SHA-256", sha(MODEL))
        (folder / "m.gguf.wrong").unlink()
        add_repository(site, "o/bad", {"../../m.gguf": MODEL, "x/..": MODEL, "a\nb.gguf": MODEL})
        Run(folder, "o/bad:x/..", "--endpoint", site.url).must_fail("bad name")
        Run(folder, "o/bad:a\nb.gguf", "--endpoint", site.url).must_fail("bad name")
        add_repository(site, "o/huge", {"m.gguf": MODEL})
        tree = site.files["/api/models/o/huge/tree/main?recursive=true"]
        tree.data = tree.data.replace(str(len(MODEL)).encode(), b"9" * 15)
        Run(folder, "o/huge", "--endpoint", site.url).must_fail("room")
        tree.data = b"<html>"
        Run(folder, "o/huge", "--endpoint", site.url).must_fail("not a list of files")
    holds(folder)


def test_token_stays_at_home(folder):
    with Site() as cdn, Site() as site:
        add_repository(site, "o/n", {"m.gguf": MODEL})
        cdn.files["/f"] = File(MODEL)
        site.files["/o/n/resolve/main/m.gguf"] = File(location=cdn.url + "/f")
        env = {"HF_TOKEN": "secret"}
        Run(folder, "o/n", "--endpoint", site.url, env=env).must_succeed()
        for path, file in site.files.items():
            assert [asked.get("Authorization") for asked in file.asked] == ["Bearer secret"], path
        assert "Authorization" not in cdn.files["/f"].asked[0]
        Run(folder, cdn.url + "/f", "--endpoint", site.url, "--out", "x", env=env).must_succeed()
        assert "Authorization" not in cdn.files["/f"].asked[1]
        Run(folder, "o/n", "--endpoint", site.url, "--force", env={"HF_TOKEN": "a\nX: b"}).must_fail("Authorization")


def main():
    PROGRAM.extend(os.path.abspath(part) if os.path.exists(part) else part
                   for part in sys.argv[1:] if not part.startswith("test_"))
    chosen = [name for name in sys.argv[1:] if name.startswith("test_")]
    failures = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (chosen and name not in chosen):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(pathlib.Path(folder))
                print(f"ok    {name}")
            except (AssertionError, subprocess.TimeoutExpired) as wrong:
                failures += 1
                print(f"FAIL  {name}: line {wrong.__traceback__.tb_next.tb_lineno}: {wrong}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
