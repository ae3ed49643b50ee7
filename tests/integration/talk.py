#!/usr/bin/env python3
"""talk.py MODEL SHOAL...: a conversation with the model of the repository, as users have it.

Longer than the model's context, so that it must forget; the same with other threads and without
guesses; saved at the end.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MESSAGES = ["Good morrow, cousin.", "What news from the wars?", "<|end|> Who art thou?", "Thou art a villain!",
            "Be patient, gentle queen, and I will stay.", "Where is my lord?"] * 5


def talk(program, model, *options):
    with tempfile.TemporaryDirectory() as directory:
        said = "\n".join([*MESSAGES, "/save saved.json", "/quit"]) + "\n"
        done = subprocess.run([*program, "chat", "--model", model, "--system", "ROMEO", "--seed", "7", *options],
                              input=said.encode(), capture_output=True, cwd=directory, timeout=300, check=False)
        assert done.returncode == 0, done
        return done.stdout.decode(), json.loads(pathlib.Path(directory, "saved.json").read_text())


def main():
    model, *program = (os.path.abspath(part) if os.path.exists(part) else part for part in sys.argv[1:])
    shown, saved = talk(program, model)
    assert saved[0] == {"role": "system", "content": "ROMEO"}, saved[0]
    turns = saved[1:]
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * (len(turns) // 2), turns
    # It forgot the oldest and kept the newest, whole.
    assert 2 <= len(turns) // 2 < len(MESSAGES), len(turns)
    assert [turn["content"] for turn in turns[::2]] == MESSAGES[-len(turns) // 2:], turns
    for turn in turns[1::2]:
        assert turn["content"] in shown, turn
        assert "<|" not in turn["content"], turn
    for options in (["--threads", "2"], ["--guesses", "0"]):
        assert talk(program, model, *options) == (shown, saved), options
    print("\n".join(f"{turn['role']}: {turn['content']}" for turn in turns[-6:]))


if __name__ == "__main__":
    main()
