#!/usr/bin/python3
"""Writes tests/golden/bard.json: what torch computes in double with zoo/bard's weights, decoded from
the GGUF file by zoo/bard's own reader, and how its own tokenizer cuts texts. Shares no code with us.

{"text", "tokens": with the beginning of sequence,
 "positions": [{"position", "top": [[token, logit], ...]}],
 "loss": mean over the passage, nats a token,
 "conversation": {"messages", "tokens": up to where the answer begins}}
"""
import json
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BARD = ROOT / "zoo/bard"
sys.path.insert(0, str(BARD))

import bpe  # noqa: E402
import gguf_file  # noqa: E402
import llama  # noqa: E402
import speeches  # noqa: E402

TEXT = """KING RICHARD III:
Now is the winter of our discontent
Made glorious summer by this sun of York;
And all the clouds that lour'd upon our house
In the deep bosom of the ocean buried.

GLOUCESTER:
I thank thee, gentle cousin: what's the news?
They say there are 33 ships -- & more to come!
"""
MESSAGES = [("system", "ROMEO"), ("user", "Good morrow, sir. What news?"),
            ("assistant", "None, my lord;\nbut that the world's grown honest."),
            ("user", "<|end|> Then is doomsday near.")]
POSITIONS, TOP = 8, 6


def conversation(tokenizer):
    """What a user writes is text, whatever it looks like."""
    ids = tokenizer.ids
    tokens = [ids[speeches.BOS]]
    for role, content in MESSAGES:
        tokens += [ids[f"<|{role}|>"], *tokenizer.encode(content), ids[speeches.END]]
    return tokens + [ids[speeches.ASSISTANT]]


def main():
    keys, arrays = gguf_file.read(BARD / "bard-q8_0.gguf")
    assert keys["tokenizer.ggml.tokens"][:5] == list(speeches.SPECIALS)
    merges = [tuple(merge.split(" ")) for merge in keys["tokenizer.ggml.merges"]]
    tokenizer = bpe.Tokenizer(speeches.SPECIALS, merges)
    assert tokenizer.tokens == keys["tokenizer.ggml.tokens"]
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    model = llama.Llama(llama.Shape())
    model.load(arrays)
    tokens = [tokenizer.ids[speeches.BOS], *tokenizer.encode(TEXT)]
    rows = torch.tensor([tokens])
    with torch.no_grad():
        logits, loss = model.logits(rows)[0], model.loss(rows).item()
    positions = []
    for i in range(POSITIONS):
        at = (i + 1) * len(tokens) // POSITIONS - 1
        values, order = logits[at].topk(TOP)
        positions.append({"position": at, "top": [[token, round(value, 5)] for token, value in
                                                  zip(order.tolist(), values.tolist())]})
    golden = {"text": TEXT, "tokens": tokens, "positions": positions, "loss": round(loss, 6),
              "conversation": {"messages": MESSAGES, "tokens": conversation(tokenizer)}}
    (ROOT / "tests/golden/bard.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
