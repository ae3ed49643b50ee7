"""A Llama in torch, with the tensors named as in GGUF files.

Positions turn neighbouring pairs (2i, 2i+1), as files of the architecture "llama" have it, so
that nothing is permuted on the way out.
"""
import dataclasses
import math

import torch
import torch.nn.functional as F


@dataclasses.dataclass
class Shape:
    layers: int = 5
    dim: int = 256
    heads: int = 4
    kv_heads: int = 2
    ff_dim: int = 512
    vocab: int = 1024
    context: int = 512
    rope_base: float = 10000.0
    rms_eps: float = 1e-5

    @property
    def head_dim(self):
        return self.dim // self.heads


def _tensor_shapes(shape):
    """Name -> dimensions; the output matrix is the embedding."""
    dim, ff, kv = shape.dim, shape.ff_dim, shape.kv_heads * shape.head_dim
    yield "token_embd.weight", (shape.vocab, dim)
    for i in range(shape.layers):
        for name, dims in (("attn_norm", (dim,)), ("attn_q", (dim, dim)), ("attn_k", (kv, dim)),
                           ("attn_v", (kv, dim)), ("attn_output", (dim, dim)),
                           ("ffn_norm", (dim,)), ("ffn_gate", (ff, dim)), ("ffn_up", (ff, dim)),
                           ("ffn_down", (dim, ff))):
            yield f"blk.{i}.{name}.weight", dims
    yield "output_norm.weight", (dim,)


class Llama:
    def __init__(self, shape):
        self.shape = shape
        self.tensors = {}
        for name, dims in _tensor_shapes(shape):
            if len(dims) == 1:
                value = torch.ones(dims)
            else:
                # What adds to the residual stream starts smaller, by how often that is done.
                narrow = "attn_output" in name or "ffn_down" in name
                value = torch.randn(dims) * (0.02 / math.sqrt(2 * shape.layers) if narrow else 0.02)
            self.tensors[name] = value.requires_grad_()
        half = shape.head_dim // 2
        frequencies = shape.rope_base ** (-torch.arange(half) / half)
        angles = torch.arange(shape.context)[:, None] * frequencies
        self._cos, self._sin = torch.cos(angles), torch.sin(angles)
        self._mask = torch.full((shape.context, shape.context), -math.inf).triu(1)

    def load(self, arrays):
        with torch.no_grad():
            for name, tensor in self.tensors.items():
                tensor.copy_(torch.from_numpy(arrays[name].copy()))

    def _norm(self, x, name):
        mean = x.pow(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(mean + self.shape.rms_eps) * self.tensors[name + ".weight"]

    def _linear(self, x, name):
        return F.linear(x, self.tensors[name + ".weight"])

    def _turn(self, x):
        cos, sin = self._cos[:x.shape[-2]], self._sin[:x.shape[-2]]
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)

    def _attention(self, x, block):
        batch, length, _ = x.shape
        group = self.shape.heads // self.shape.kv_heads

        def heads(name):
            return self._linear(x, block + name).view(batch, length, -1,
                                                      self.shape.head_dim).transpose(1, 2)

        q = self._turn(heads("attn_q")) / math.sqrt(self.shape.head_dim)
        k = self._turn(heads("attn_k")).repeat_interleave(group, 1)
        v = heads("attn_v").repeat_interleave(group, 1)
        weights = torch.softmax(q @ k.transpose(-1, -2) + self._mask[:length, :length], -1)
        mixed = (weights @ v).transpose(1, 2).reshape(batch, length, -1)
        return self._linear(mixed, block + "attn_output")

    def _feed_forward(self, x, block):
        hidden = F.silu(self._linear(x, block + "ffn_gate")) * self._linear(x, block + "ffn_up")
        return self._linear(hidden, block + "ffn_down")

    def logits(self, tokens, dropout=0.0):
        """tokens [batch][length] -> [batch][length][vocab]"""
        x = F.dropout(self.tensors["token_embd.weight"][tokens], dropout)
        for i in range(self.shape.layers):
            block = f"blk.{i}."
            x = x + F.dropout(self._attention(self._norm(x, block + "attn_norm"), block), dropout)
            x = x + F.dropout(self._feed_forward(self._norm(x, block + "ffn_norm"), block), dropout)
        return self._linear(self._norm(x, "output_norm"), "token_embd")

    def loss(self, rows, dropout=0.0):
        """Mean over all tokens of `rows` but the first of each, in nats."""
        logits = self.logits(rows[:, :-1], dropout)
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), rows[:, 1:].reshape(-1))
