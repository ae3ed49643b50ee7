"""Runs `shoal pull` and looks at what it did; for pull_test.py and pull_hub_test.py."""
import hashlib
import os
import pathlib
import random
import subprocess
import sys
import tempfile

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


def main(tests):
    """Runs the functions called test_… among `tests`, or those named on the command line."""
    PROGRAM.extend(os.path.abspath(part) if os.path.exists(part) else part
                   for part in sys.argv[1:] if not part.startswith("test_"))
    chosen = [name for name in sys.argv[1:] if name.startswith("test_")]
    failures = 0
    for name, test in tests.items():
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
