"""GGUF version 3, as much as Bard's file needs: writing, and reading it back."""
import struct

import numpy

ALIGNMENT = 32
F32, Q8_0 = 0, 8
_STRING, _ARRAY = 8, 9
_FORMATS = {4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q"}
_BLOCK = numpy.dtype([("scale", "<f2"), ("quants", "i1", 32)])


def to_q8_0(values):
    """Blocks of 32: scale = largest / 127 as F16, round(value / scale), as ggml does it."""
    blocks = values.astype(numpy.float32).reshape(-1, 32)
    scale = numpy.abs(blocks).max(axis=1) / numpy.float32(127)
    inverse = numpy.divide(1, scale, out=numpy.zeros_like(scale), where=scale > 0)
    scaled = blocks * inverse[:, None]
    out = numpy.empty(len(blocks), _BLOCK)
    out["scale"] = scale
    out["quants"] = numpy.copysign(numpy.floor(numpy.abs(scaled) + 0.5), scaled)
    return out.tobytes()


def from_q8_0(data):
    blocks = numpy.frombuffer(data, _BLOCK)
    return blocks["quants"].astype(numpy.float32) * blocks["scale"].astype(numpy.float32)[:, None]


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(kind, value):
    return _string(value) if kind == _STRING else struct.pack(_FORMATS[kind], value)


def _pad(data):
    return data + bytes(-len(data) % ALIGNMENT)


class Writer:
    """Keys and tensors in the order in which they are added."""

    def __init__(self):
        self._keys, self._tensors, self._data, self._counts = [], [], [], [0, 0]
        self._offset = 0

    def _key(self, name, kind, data):
        self._keys.append(_string(name) + struct.pack("<i", kind) + data)
        self._counts[1] += 1

    def string(self, name, value):
        self._key(name, _STRING, _string(value))

    def u32(self, name, value):
        self._key(name, 4, struct.pack("<I", value))

    def f32(self, name, value):
        self._key(name, 6, struct.pack("<f", value))

    def boolean(self, name, value):
        self._key(name, 7, struct.pack("<?", value))

    def array(self, name, kind, values):
        head = struct.pack("<iQ", kind, len(values))
        self._key(name, _ARRAY, head + b"".join(_value(kind, value) for value in values))

    def strings(self, name, values):
        self.array(name, _STRING, values)

    def tensor(self, name, values):
        """Matrices as Q8_0, vectors as F32."""
        kind = Q8_0 if values.ndim == 2 else F32
        data = to_q8_0(values) if kind == Q8_0 else values.astype("<f4").tobytes()
        # GGUF counts dimensions from the innermost.
        self._tensors.append(_string(name) + struct.pack("<I", values.ndim) +
                             struct.pack(f"<{values.ndim}q", *reversed(values.shape)) +
                             struct.pack("<iQ", kind, self._offset))
        self._data.append(_pad(data))
        self._offset += len(self._data[-1])
        self._counts[0] += 1

    def write(self, path):
        head = b"GGUF" + struct.pack("<Iqq", 3, *self._counts)
        with open(path, "wb") as file:
            file.write(_pad(head + b"".join(self._keys) + b"".join(self._tensors)))
            file.write(b"".join(self._data))


class _Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def unpack(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def string(self):
        (size,) = self.unpack("<Q")
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def value(self, kind):
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            inner, count = self.unpack("<iQ")
            return [self.value(inner) for _ in range(count)]
        return self.unpack(_FORMATS[kind])[0]


def read(path):
    """(keys, tensors): what a Writer wrote; tensors as float32 arrays."""
    with open(path, "rb") as file:
        cursor = _Cursor(file.read())
    magic, version, tensor_count, key_count = cursor.unpack("<4sIqq")
    assert magic == b"GGUF" and version == 3
    keys, entries, tensors = {}, [], {}
    for _ in range(key_count):
        name = cursor.string()
        keys[name] = cursor.value(cursor.unpack("<i")[0])
    for _ in range(tensor_count):
        name = cursor.string()
        (dims,) = cursor.unpack("<I")
        shape = tuple(reversed(cursor.unpack(f"<{dims}q")))
        entries.append((name, shape, *cursor.unpack("<iQ")))
    begin = cursor.at + -cursor.at % ALIGNMENT
    for name, shape, kind, offset in entries:
        count = int(numpy.prod(shape))
        size = count * 4 if kind == F32 else count // 32 * _BLOCK.itemsize
        data = cursor.data[begin + offset:begin + offset + size]
        values = numpy.frombuffer(data, "<f4") if kind == F32 else from_q8_0(data)
        tensors[name] = values.reshape(shape)
    return keys, tensors
