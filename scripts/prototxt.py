"""Reads protobuf's text format into plain Python values, without a schema.

A message is a Message: each field's name maps to the list of its values in order. Values are
str, int, float, bool, Message, or Name (an enum's value). Errors carry the line.
"""
import re

_TOKEN = re.compile(r"""
    (?P<space>[\s,;]+|\#[^\n]*)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fF]?(?![\w.]))
  | (?P<name>-?[A-Za-z_][\w.]*)
  | (?P<sign>[{}:<>\[\]])
""", re.VERBOSE)


class Name(str):
    """An identifier used as a value."""


class Message(dict):
    """Field name -> list of values."""

    def one(self, field, default=None):
        """The last value of a field, as protobuf reads a repeated optional field."""
        return self[field][-1] if field in self else default

    def all(self, field):
        return self.get(field, [])

    def sub(self, field):
        """A message field that may be absent."""
        return self.one(field, Message())


def _tokens(text, name):
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise ValueError(f"{name}:{line}: cannot read {text[at:at + 20]!r}")
        if match.lastgroup != "space":
            yield match.lastgroup, match.group(), line
        line += match.group().count("\n")
        at = match.end()
    yield "end", "", line


def _scalar(kind, word):
    if kind == "string":
        return word[1:-1].encode().decode("unicode_escape")
    if kind == "number":
        return int(word) if re.fullmatch(r"[-+]?\d+", word) else float(word.rstrip("fF"))
    return {"true": True, "false": False}.get(word, Name(word))


class _Parser:
    def __init__(self, text, name):
        self.tokens = list(_tokens(text, name))
        self.at = 0
        self.name = name

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def peek(self):
        return self.tokens[self.at][1]

    def fail(self, line, message):
        raise ValueError(f"{self.name}:{line}: {message}")

    def message(self, closing):
        result = Message()
        while True:
            kind, word, line = self.take()
            if word == closing and kind in ("sign", "end"):
                return result
            if kind != "name":
                self.fail(line, f"expected a field, found {word!r}")
            result.setdefault(word, []).extend(self.values())

    def values(self):
        if self.peek() == ":":
            self.take()
        if self.peek() != "[":
            return [self.value()]
        self.take()
        result = []
        while self.peek() != "]":
            result.append(self.value())
        self.take()
        return result

    def value(self):
        kind, word, line = self.take()
        if kind == "sign" and word in "{<":
            return self.message("}" if word == "{" else ">")
        if kind in ("sign", "end"):
            self.fail(line, f"expected a value, found {word!r}")
        text = _scalar(kind, word)
        while kind == "string" and self.tokens[self.at][0] == "string":  # "a" "b" is "ab".
            text += _scalar("string", self.take()[1])
        return text


def parse(text, name="prototxt"):
    return _Parser(text, name).message("")


def read(path):
    with open(path, encoding="utf-8") as file:
        return parse(file.read(), str(path))
