"""Byte-level BPE as GPT-2 has it, for text whose letters are ASCII: learning merges, cutting text.

A token is written as GGUF files write it: each byte as one printable character.
"""
import collections
import functools
import re

# GPT-2's expression; \p{L} and \p{N} are what ASCII has of them.
_WORD = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")


def byte_alphabet():
    """Byte -> character: printable ones are themselves, the others follow from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {**{byte: chr(byte) for byte in printable},
            **{byte: chr(0x100 + i) for i, byte in enumerate(others)}}


_ALPHABET = byte_alphabet()


def words(text):
    assert text.isascii()
    for word in _WORD.findall(text):
        yield "".join(_ALPHABET[byte] for byte in word.encode())


def _merge(symbols, pair):
    merged, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i:i + 2]) == pair:
            merged.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return merged


def learn_merges(text, count):
    """The `count` most frequent pairs, one after the other; of equals the last in the alphabet."""
    counted = collections.Counter(words(text))
    cut = {word: list(word) for word in counted}
    pairs, where = collections.Counter(), collections.defaultdict(set)

    def tally(word, sign):
        for pair in zip(cut[word], cut[word][1:]):
            pairs[pair] += sign * counted[word]
            where[pair].add(word)

    for word in cut:
        tally(word, 1)
    merges = []
    for _ in range(count):
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for word in sorted(where[best]):
            tally(word, -1)
            cut[word] = _merge(cut[word], best)
            tally(word, 1)
        del pairs[best]
    return merges


class Tokenizer:
    def __init__(self, specials, merges):
        self.merges = merges
        self.specials = specials
        self.tokens = [*specials, *(_ALPHABET[byte] for byte in range(256)),
                       *("".join(pair) for pair in merges)]
        assert len(set(self.tokens)) == len(self.tokens)
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}

    @functools.lru_cache(maxsize=None)
    def _word(self, word):
        symbols = list(word)
        while len(symbols) > 1:
            best = min(zip(symbols, symbols[1:]),
                       key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if best not in self._ranks:
                break
            symbols = _merge(symbols, best)
        return [self.ids[symbol] for symbol in symbols]

    def encode(self, text):
        return [token for word in words(text) for token in self._word(word)]
