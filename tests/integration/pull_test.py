#!/usr/bin/env python3
"""`shoal pull URL` against real servers on this machine: pull_test.py PROGRAM [a test's name...]"""
import json
import resource
import signal
import sys
import threading
import time

from pull_run import MODEL, OTHER, PROGRAM, Run, content, holds, main, sha
from pull_server import File, Site


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


if __name__ == "__main__":
    sys.exit(main(globals()))
