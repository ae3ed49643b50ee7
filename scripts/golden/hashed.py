"""Numbers that C++ and Python make alike: weights, inputs, labels and probes from an integer hash.

  fnv1a64(text)       the usual 64-bit FNV-1a of the bytes
  mix(x)              z = x + 0x9e3779b97f4a7c15; z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
                      z = (z ^ z >> 27) * 0x94d049bb133111eb; z ^ z >> 31    (splitmix64, mod 2^64)
  hash(key, i)        mix(fnv1a64(key) + i)
  unit(key, i)        (hash(key, i) >> 40) / 2^24 * 2 - 1, in [-1, 1), exact in float32

i counts in Caffe's element order: (N, C, H, W) of a blob, (O, C/g, H, W) of weights.
"""
import numpy

_CHUNK = 1 << 22


def fnv1a64(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return value


def hashes(key, count, begin=0):
    """hash(key, i) for i from begin on, as uint64."""
    shift = numpy.uint64
    z = numpy.arange(begin, begin + count, dtype=numpy.uint64)
    z += shift((fnv1a64(key) + 0x9E3779B97F4A7C15) % (1 << 64))
    z = (z ^ (z >> shift(30))) * shift(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> shift(27))) * shift(0x94D049BB133111EB)
    return z ^ (z >> shift(31))


def values(key, shape, scale=1.0, offset=0.0):
    """float32(offset + scale * unit), computed in double."""
    count = int(numpy.prod(shape, dtype=numpy.int64))
    result = numpy.empty(count, numpy.float32)
    for begin in range(0, count, _CHUNK):
        part = hashes(key, min(_CHUNK, count - begin), begin) >> numpy.uint64(40)
        unit = part.astype(numpy.float64) / (1 << 24) * 2 - 1
        result[begin:begin + len(unit)] = offset + scale * unit
    return result.reshape(shape)


def labels(key, shape, classes):
    """hash % classes."""
    count = int(numpy.prod(shape, dtype=numpy.int64))
    return (hashes(key, count) % numpy.uint64(classes)).astype(numpy.int64).reshape(shape)


def digest(array):
    """[L2 norm, 4 probes, 8 samples]: probe j is the dot product with +1 where bit j of
    hash("probe", i) is set and -1 elsewhere; sample k is the element hash("sample", k) % count."""
    flat = numpy.asarray(array, numpy.float64).reshape(-1)
    probes = numpy.zeros(4)
    for begin in range(0, len(flat), _CHUNK):
        part = flat[begin:begin + _CHUNK]
        bits = hashes("probe", len(part), begin)
        for j in range(4):
            signs = ((bits >> numpy.uint64(j)) & numpy.uint64(1)).astype(numpy.float64) * 2 - 1
            probes[j] += signs @ part
    samples = flat[(hashes("sample", 8) % numpy.uint64(len(flat))).astype(numpy.int64)]
    return [float(numpy.sqrt(flat @ flat)), *probes.tolist(), *samples.tolist()]
