#!/usr/bin/env python3
"""Ranks and workers that do not fit the others: an error that names them, and nobody hangs.

mismatch_test.py ZOO PROGRAM
"""
import shutil
import sys

from cluster_run import Folder

STEPS = 6
IMAGES = 160


def expect(text, output):
    if text not in output:
        sys.exit(f"no '{text}' in\n{output}")
    print(next(line for line in output.splitlines() if text in line))


def main():
    folder = Folder(sys.argv[2], sys.argv[1], IMAGES)

    # A worker whose memory is too small for one image: the others go on without it.
    output = folder.run("train", "--solver", folder.solver("small", STEPS), "--batch", "32",
                        "--workers", "3", "--dir", "cluster", "--worker-options", "2=--memory 1M",
                        timeout=60)
    expect("worker-2 resource exhausted: not even a batch of one image fits 1 MiB", output)
    folder.check_commits("small", STEPS, IMAGES)
    # One that does not even start.
    output = folder.run("train", "--solver", folder.solver("absent", STEPS), "--batch", "32",
                        "--workers", "3", "--dir", "cluster", "--worker-options", "3=--nonsense",
                        timeout=60)
    expect("worker-3 ended", output)
    folder.check_commits("absent", STEPS, IMAGES)
    # Nobody is left.
    output = folder.run("train", "--solver", folder.solver("nobody", STEPS), "--workers", "1",
                        "--dir", "cluster", "--worker-options", "1=--memory 1M", fails=True,
                        timeout=60)
    expect("shoal: worker-1 resource exhausted", output)

    # More images than there can be, which no product of them may hide.
    for more in (("--batch", "9223372036854775807", "--mode", "local", "--period", "4"),
                 ("--batch", "4611686018427387904", "--mode", "local", "--period", "4"),
                 ("--batch-per-device", "9223372036854775807")):
        output = folder.run("train", "--solver", "nobody.prototxt", "--workers", "2", "--dir",
                            "cluster", *more, fails=True)
        expect("images in a step: at most", output)
    # More pieces of gradients than a message can name.
    net = (folder.path / "net.prototxt").read_text()
    (folder.path / "huge.prototxt").write_text(net.replace("num_output: 500", "num_output: 27000"))
    solver = folder.path / folder.solver("pieces", STEPS)
    solver.write_text(solver.read_text().replace('"net.prototxt"', '"huge.prototxt"'))
    expect("choose a larger one", folder.run("train", "--solver", "pieces.prototxt", "--workers", "1",
                                             "--dir", "cluster", "--bucket-mb", "0.01", fails=True))

    if shutil.which("mpirun") is None:
        return print("no mpirun here")
    mpirun = ("mpirun", "--oversubscribe", "-np", "1")

    def ranks(solver, *more, text):
        done = folder.run("train", "--solver", folder.solver("a", STEPS), "--batch", "32", ":",
                          "-np", "1", folder.program, "train", "--solver", solver, *more,
                          before=mpirun, fails=True, timeout=60)
        expect(text, done)

    a = (folder.path / folder.solver("a", STEPS)).read_text()
    (folder.path / "b.prototxt").write_text(a.replace("0.01", "0.02"))
    ranks("b.prototxt", "--batch", "32", text="rank 1 invalid argument: its b.prototxt is another file")
    ranks("a.prototxt", "--batch", "16", text="--batch 16, rank 0 with --batch 32")
    (folder.path / "wide.prototxt").write_text(net.replace("num_output: 20", "num_output: 24"))
    (folder.path / "c.prototxt").write_text(a.replace('"net.prototxt"', '"wide.prototxt"'))
    ranks("c.prototxt", "--batch", "32", text="c.prototxt is another file")
    # Rank 0 fails before it leads: the others end, too.
    two = (*mpirun[:-1], "2")
    for arguments, text in ((("--solver", "typo.prototxt"), "typo.prototxt"),
                            (("--solver", "a.prototxt", "--algorithm", "foo"), "--algorithm foo")):
        expect(text, folder.run("train", *arguments, before=two, fails=True, timeout=60))
    # A rank that has no files at all is fine: rank 0 sends what is needed.
    folder.run("train", "--solver", "a.prototxt", "--batch", "32", ":", "-np", "1", folder.program,
               "train", "--solver", "nowhere.prototxt", "--batch", "32", before=mpirun, timeout=60)
    folder.check_commits("a", STEPS, IMAGES)


if __name__ == "__main__":
    main()
