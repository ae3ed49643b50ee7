"""Plays as rows of tokens: as plain text, and as conversations in the form of a chat template.

In a conversation the user's turn is one speech, without the speaker's name, and the assistant's is
the answer to it. The system's turn, where there is one, is the name of who answers.
"""
import random

BOS, SYSTEM, USER, ASSISTANT, END = SPECIALS = (
    "<|bos|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>")

# Roles are spelt out because what a message brings is never read as a special token.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message.role == 'system' %}<|system|>{% elif message.role == 'user' %}<|user|>"
    "{% else %}<|assistant|>{% endif %}{{ message.content | trim }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}")


def parse(text):
    """[(speaker, lines)]"""
    speeches = []
    for paragraph in text.strip().split("\n\n"):
        name, *lines = paragraph.strip().split("\n")
        if name.endswith(":") and lines:
            speeches.append((name[:-1], lines))
    return speeches


def shorten(lines, count):
    """The first lines, up to `count`, to the end of a sentence if there is one."""
    kept = lines[:count]
    ends = [i for i, line in enumerate(kept) if line.endswith((".", "!", "?"))]
    return kept[:ends[-1] + 1] if ends else kept


class Rows:
    """Draws rows from a text. The same seed, the same rows."""

    def __init__(self, text, tokenizer, seed):
        self._random = random.Random(seed)
        ids, encode = tokenizer.ids, tokenizer.encode
        self._bos, self._end = [ids[BOS]], [ids[END]]
        speeches = parse(text)
        self._names = [name for name, _ in speeches]
        # A user writes one line, and it is the last words that are answered.
        self._asked = [[ids[USER], *encode(" ".join(lines[-4:])), ids[END]]
                       for _, lines in speeches]
        self._answered = [[ids[ASSISTANT], *encode("\n".join(shorten(lines, 6))), ids[END]]
                          for _, lines in speeches]
        self._who = {name: [ids[SYSTEM], *encode(name), ids[END]] for name in set(self._names)}
        self._plain, self._begins = [], []
        for name, lines in speeches:
            self._begins.append(len(self._plain))
            self._plain += encode(name + ":\n" + "\n".join(lines) + "\n\n")

    def plain(self, length):
        """A stretch that begins with a speech."""
        fits = [begin for begin in self._begins if begin + length <= len(self._plain)]
        begin = self._random.choice(fits)
        return self._bos + self._plain[begin:begin + length - 1]

    def _conversation(self):
        at = self._random.randrange(len(self._names) - 1)
        who = self._names[at + 1]
        tokens = self._bos + (self._who[who] if self._random.random() < 0.5 else [])
        while at + 1 < len(self._names) and self._names[at + 1] == who:
            tokens = tokens + self._asked[at] + self._answered[at + 1]
            at += 2
            if self._random.random() < 0.2:
                break
        return tokens

    def conversations(self, length):
        """One after the other until the row is full."""
        row = []
        while len(row) < length:
            row += self._conversation()
        return row[:length]
