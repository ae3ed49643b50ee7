#!/usr/bin/env python3
"""Bad operation: what goes wrong by itself is said in one clear line that names the thing and says
what to do, and what can go on goes on.

  operation_test.py SHOAL MODEL [SHIFTED_CLOCK]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from observed import Place, wait_for

SHOAL, MODEL = (os.path.abspath(path) for path in sys.argv[1:3])
SHIFTED_CLOCK = sys.argv[3] if len(sys.argv) > 3 else ""
YEAR = 365 * 24 * 3600


def test_port_in_use(place):
    place.serve()
    with tempfile.TemporaryDirectory() as other:
        place.must_work("init", "--dir", other)
        free = {"--listen": "127.0.0.1:0", "--enrol": "127.0.0.1:0", "--http": "127.0.0.1:0"}
        for option, name in (("--listen", "cluster"), ("--enrol", "enrol"), ("--http", "http")):
            taken = place.addresses[name]
            addresses = [part for pair in (free | {option: taken}).items() for part in pair]
            place.must_fail([taken, "in use", option], "serve", "--dir", other, "--model", MODEL, *addresses)


def test_model_too_big(place):
    head = place.serve()
    place.join("small", "--memory", "10M")
    line = head.wait_for("waiting: .* the nodes that are here have")
    assert re.search(r"the model takes \d+ MB, .* have \d+ MB for it: \d+ MB are missing", line), line
    assert "MB are missing" in place.health()["why"], place.health()
    place.join("large")
    place.answer()
    assert len(head.lines("nodes that are here have .* waiting")) == 0, head.lines()


def test_full_disk(place):
    disk = place.root / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], check=False,
                             capture_output=True, text=True)
    if mounted.returncode != 0:
        print(f"  skipped: {mounted.stderr.strip()}")
        return
    try:
        place.must_work("init", "--dir", disk / "head")
        place.must_fail(["no room for", str(disk / "head"), "MB are missing", "make room on the disk"], "serve",
                        "--dir", disk / "head", "--model", MODEL, "--listen", "127.0.0.1:0", "--enrol",
                        "127.0.0.1:0", "--http", "127.0.0.1:0")
        head = place.serve()
        node = place.join("node", directory=disk / "node")
        why = "no room for .* MB of layers in .*disk/node/cache: .* MB are missing; make room on the disk"
        node.wait_for("cannot hold the layers that the head wants here: " + why)
        head.wait_for("node 2 cannot hold its layers: " + why)
        # It is tried again and again, and said once.
        wait_for(lambda: len(node.lines(why)) >= 2, 30, "another attempt", node.log)
        assert len(head.lines(why)) == 1, head.lines()
        place.join("spacious")
        place.answer()
    finally:
        place.close()
        subprocess.run(["umount", disk], check=True)


def damage(layers):
    """One byte of every layer."""
    for path in layers.glob("*.layer"):
        with open(path, "r+b") as file:
            file.seek(path.stat().st_size // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))


def test_wrong_model_hash(place):
    place.serve()
    node = place.join("node")
    right = place.answer()
    # On the node: it notices before it uses them, and fetches them again.
    node.stop()
    damage(place.root / "node" / "cache" / "layers")
    node = place.again("node")
    node.wait_for("connected to the head")
    assert place.answer() == right
    node.stop()
    # On the head: nobody can have them.
    damage(place.root / "head" / "cache" / "layers")
    shutil.rmtree(place.root / "node" / "cache")
    node = place.again("node")
    why = "the head sends wrong bytes of layer ([0-9a-f]+), so its file is damaged; on the head, stop"
    node.wait_for("cannot hold the layers that the head wants here: " + why)
    line = place.head.wait_for("node 2 cannot hold its layers: " + why)
    # The advice is good.
    place.head.stop()
    node.stop()
    advice = re.search("`shoal (cache rm [0-9a-f]+)`", line).group(1)
    assert "removed 1 layers" in place.must_work(*advice.split(), environment={"SHOAL_HOME": str(place.root / "head")})


def test_clock(place):
    if not SHIFTED_CLOCK:
        print("  skipped: no clock to shift")
        return

    def off(seconds):
        return {"LD_PRELOAD": SHIFTED_CLOCK, "SHOAL_TEST_CLOCK_SHIFT": str(seconds)}

    place.serve("--stages", "2")
    place.join("behind", environment=off(-YEAR))
    place.join("ahead", environment=off(YEAR))
    place.answer()
    # The head's own clock, wrong when it lets somebody in and put right later; the other way round, too.
    for shift in (YEAR, -YEAR):
        place.close()
        place.serve(environment=off(shift))
        name = f"of-{shift}"
        node = place.join(name, token=place.token(environment=off(shift)))
        place.answer()
        node.stop()
        place.head.stop()
        place.serve()
        place.again(name)
        place.answer()


def test_one_identity_twice(place):
    head = place.serve()
    node = place.join("node")
    node.wait_for("connected to the head")
    place.must_fail(["another `shoal join` is at work", "--dir"], "join", "--dir", place.root / "node")
    shutil.copytree(place.root / "node", place.root / "copy")
    place.again("copy")
    line = head.wait_for("two devices use the identity of node 2")
    assert "on one of them, delete its directory and join anew" in line, line


def main():
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        print(name, flush=True)
        with tempfile.TemporaryDirectory(prefix="shoal-operation-") as root:
            place = Place(SHOAL, MODEL, pathlib.Path(root))
            try:
                test(place)
            finally:
                place.close()
    print("ok")


if __name__ == "__main__":
    main()
