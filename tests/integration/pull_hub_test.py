#!/usr/bin/env python3
"""`shoal pull` over https and from repositories like those of Hugging Face:
pull_hub_test.py PROGRAM [a test's name...]"""
import subprocess
import sys

from pull_run import MODEL, OTHER, Run, content, holds, main, sha
from pull_server import File, Site, add_repository


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


if __name__ == "__main__":
    sys.exit(main(globals()))
