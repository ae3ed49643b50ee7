#!/usr/bin/env python3
"""broken_inputs.py SHOAL: gives the program inputs that are broken in every way we know of.

Each must end it with exit code 1 and one line on stderr, "shoal: " and what is wrong, that names
the file, layer or field; within seconds, in a bounded address space, and without a signal.
"""
import os
import pathlib
import resource
import struct
import subprocess
import sys
import tempfile
import zlib

SECONDS_MAX = 60  # Of one run; emulated and sanitized programs are slow.
ADDRESS_SPACE_MAX = 6 << 30

DATA = """layer { name: "data" type: "Data" top: "data" top: "label"
  transform_param { crop_size: 8 } data_param { source: "db" batch_size: 2 backend: LMDB } }
"""
CONV = """layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 4 kernel_size: 3 } }
"""
IP = """layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
  inner_product_param { num_output: 3 } }
"""
LOSS = 'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }\n'
GOOD = DATA + CONV + IP + LOSS
DEPLOY = """layer { name: "data" type: "Input" top: "data" input_param { shape {
  dim: 1 dim: 3 dim: 8 dim: 8 } } }
""" + CONV + IP + 'layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }\n'


def net(name, text, *names):
    """A network file that `shoal time` refuses, with what the line must contain."""
    return name, {"net.prototxt": text}, ["time", "--net", "net.prototxt", "--iterations", "1"], names


def layer(name, type_, params="", bottom="data", top="x"):
    return f'layer {{ name: "{name}" type: "{type_}" bottom: "{bottom}" top: "{top}" {params} }}\n'


NETS = [
    net("empty file", "", "net.prototxt"),
    net("truncated", GOOD[:-60], "net.prototxt"),
    net("truncated in a string", GOOD[:GOOD.index("Convolution") + 4], "net.prototxt"),
    net("not text", "\x00\x01\x02\x03" * 50, "net.prototxt"),
    net("unknown field", GOOD.replace("num_output: 4", "num_putout: 4"), "num_putout"),
    net("unknown layer", GOOD.replace('"InnerProduct"', '"Juggle"'), "ip", "Juggle"),
    net("wrong type of a value", GOOD.replace("num_output: 4", 'num_output: "four"'), "net.prototxt"),
    net("no outputs", GOOD.replace("num_output: 4", "num_output: 0"), "conv"),
    net("missing num_output", GOOD.replace("num_output: 4", ""), "conv"),
    net("missing kernel", GOOD.replace("kernel_size: 3", ""), "conv"),
    net("kernel larger than the image", GOOD.replace("kernel_size: 3", "kernel_size: 30"), "conv"),
    net("groups that do not divide", GOOD.replace("kernel_size: 3", "kernel_size: 3 group: 2"), "conv"),
    net("stride 0", GOOD.replace("kernel_size: 3", "kernel_size: 3 stride: 0"), "conv"),
    net("huge outputs", GOOD.replace("num_output: 4", "num_output: 2000000000"), "conv"),
    net("huge pad", GOOD.replace("kernel_size: 3", "kernel_size: 3 pad: 2000000000"), "conv"),
    net("huge crop", GOOD.replace("crop_size: 8", "crop_size: 2000000000"), "net.prototxt"),
    net("huge batch", GOOD.replace("batch_size: 2", "batch_size: 2000000000"), "data"),
    net("batch 0", GOOD.replace("batch_size: 2", "batch_size: 0"), "data"),
    net("a batch that nobody has memory for", GOOD.replace("batch_size: 2", "batch_size: 1048576")
        .replace("crop_size: 8", "crop_size: 1024"), "net.prototxt"),
    net("images that nobody has memory for", GOOD.replace("crop_size: 8", "crop_size: 65536"), "net.prototxt"),
    net("more elements than can be counted", GOOD.replace("batch_size: 2", "batch_size: 1048576")
        .replace("crop_size: 8", "crop_size: 65536").replace("num_output: 4", "num_output: 1048576"), "net.prototxt"),
    net("weights that nobody has memory for", GOOD.replace("num_output: 3", "num_output: 1000000")
        .replace("crop_size: 8", "crop_size: 512"), "net.prototxt"),
    net("no crop", GOOD.replace("crop_size: 8", ""), "data", "--input"),
    net("unknown bottom", GOOD.replace('bottom: "conv"', 'bottom: "vonc"'), "ip", "vonc"),
    net("cycle", DATA + layer("a", "ReLU", bottom="y", top="x") + layer("b", "ReLU", bottom="x", top="y"), "a", "y"),
    net("two tops of one name", GOOD + CONV.replace('"conv" type', '"again" type'), "again"),
    net("bottom missing", GOOD.replace('bottom: "ip" bottom: "label"', 'bottom: "ip"'), "loss"),
    net("sum of different shapes", DATA + CONV + 'layer { name: "sum" type: "Eltwise" bottom: "conv"'
        ' bottom: "data" top: "sum" }\n', "sum"),
    net("concat of different shapes", DATA + CONV + 'layer { name: "cat" type: "Concat" bottom: "conv"'
        ' bottom: "data" top: "cat" }\n', "cat"),
    net("reshape to another size", DATA + layer("re", "Reshape", "reshape_param { shape { dim: 7 } }"), "re"),
    net("dropout of everything", DATA + layer("d", "Dropout", "dropout_param { dropout_ratio: 1.5 }"), "d"),
    net("even LRN", DATA + layer("lrn", "LRN", "lrn_param { local_size: 4 }"), "lrn"),
    net("use_global_stats in a train net",
        DATA + layer("bn", "BatchNorm", "batch_norm_param { use_global_stats: true }"),
        "bn", "use_global_stats"),
    net("nested too deep", "layer { " * 5000, "net.prototxt"),
    net("long rubbish", "layer " * 200000, "net.prototxt"),
]


def png(width, height, body=b""):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def blob(*shape):
    count = 1
    for extent in shape:
        count *= extent
    dims = field(1, b"".join(varint(extent) for extent in shape))
    return field(7, dims) + field(5, struct.pack("<f", 0.1) * count)


def weights(conv=(4, 3, 3, 3)):
    """A .caffemodel for DEPLOY."""
    layers = {"conv": (conv, (4,)), "ip": ((3, 144), (3,))}
    return b"".join(field(100, field(1, name.encode()) + b"".join(field(7, blob(*shape)) for shape in shapes))
                    for name, shapes in layers.items())


PIXELS = b"".join(b"\0" + bytes(8 * 3) for _ in range(8))
PHOTO = png(8, 8, PIXELS)
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00" + bytes(range(200))


def classify(name, *names, files=None, arguments=()):
    given = {"net.prototxt": DEPLOY, "w.caffemodel": weights(), "cat.png": PHOTO, **(files or {})}
    command = ["classify", "--net", "net.prototxt", "--weights", "w.caffemodel", "cat.png", *arguments]
    return name, {key: value for key, value in given.items() if value is not None}, command, names


CLASSIFY = [
    classify("no image", "cat.png", files={"cat.png": None}),
    classify("an image that is none", "cat.png", files={"cat.png": b"hello"}),
    classify("an empty image", "cat.png", files={"cat.png": b""}),
    classify("corrupt JPEG", "cat.png", files={"cat.png": JPEG}),
    classify("truncated PNG", "cat.png", files={"cat.png": PHOTO[:50]}),
    classify("PNG without pixels", "cat.png", files={"cat.png": png(8, 8)}),
    classify("PNG of 4 billion pixels", "cat.png", files={"cat.png": png(65535, 65535)}),
    classify("no weights", "w.caffemodel", files={"w.caffemodel": None}),
    classify("truncated caffemodel", "w.caffemodel", files={"w.caffemodel": weights()[:-100]}),
    classify("a caffemodel of text", "w.caffemodel", files={"w.caffemodel": b"hello world" * 9}),
    classify("empty caffemodel", "w.caffemodel", files={"w.caffemodel": b""}),
    classify("weights of another shape", "w.caffemodel", "conv", files={"w.caffemodel": weights((5, 3, 3, 3))}),
    classify("too few labels", "labels", files={"labels": "cat\n"}, arguments=["--labels", "labels"]),
    classify("no labels", "labels", arguments=["--labels", "labels"]),
    classify("broken mean", "mean", files={"mean": b"\xff" * 30}, arguments=["--mean", "mean"]),
    classify("a network without classes", "net.prototxt", files={"net.prototxt": DEPLOY[:DEPLOY.index("layer", 9)]}),
]

OTHERS = [
    ("missing net", {}, ["time", "--net", "nowhere.prototxt"], ["nowhere.prototxt"]),
    ("a directory as a net", {}, ["time", "--net", "."], ["."]),
    ("unknown zoo net", {}, ["time", "--net", "zoo:nothing"], ["nothing"]),
    ("unknown backend", {"net.prototxt": GOOD}, ["time", "--net", "net.prototxt", "--backend", "magic"], ["magic"]),
    ("memory that is no number", {"net.prototxt": GOOD}, ["time", "--net", "net.prototxt", "--memory", "much"], ["much"]),
    ("too little memory", {"net.prototxt": GOOD}, ["time", "--net", "net.prototxt", "--memory", "1M"], ["memory"]),
    ("no shape", {"net.prototxt": GOOD}, ["time", "--net", "net.prototxt", "--input", "3x"], ["3x"]),
    ("unknown network to show", {}, ["zoo", "show", "nothing"], ["nothing"]),
    ("no auxiliary classifiers", {}, ["zoo", "show", "lenet", "--aux"], ["lenet"]),
    ("export into a file", {"out": "x"}, ["zoo", "export", "lenet", "out/there"], ["out"]),
    ("missing database", {}, ["data", "info", "nowhere"], ["nowhere"]),
    ("database of 0 bytes", {"db/data.mdb": b""}, ["data", "info", "db"], ["db"]),
    ("database of rubbish", {"db/data.mdb": b"\x5a" * 40960}, ["data", "info", "db"], ["db"]),
    ("mean of a database of 0 bytes", {"db/data.mdb": b""}, ["data", "mean", "db", "out"], ["db"]),
    ("import of nothing", {"set/readme": "x"}, ["data", "import", "set", "--out", "db"], ["set"]),
    ("import of a corrupt image", {"set/cat/1.jpg": JPEG}, ["data", "import", "set", "--out", "db"], ["1.jpg"]),
    ("list of missing images", {"list.txt": "gone.jpg 0\n"}, ["data", "import", "list.txt", "--format", "list",
     "--out", "db"], ["gone.jpg"]),
]

SOLVER = """net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 2 snapshot_prefix: "s"
"""
LISTED = GOOD.replace("Data", "ImageData").replace(
    'data_param { source: "db" batch_size: 2 backend: LMDB }',
    'image_data_param { source: "list.txt" batch_size: 2 }')


def train(name, *names, files=None, arguments=()):
    given = {"net.prototxt": GOOD, "solver.prototxt": SOLVER, **(files or {})}
    command = ["train", "--solver", "solver.prototxt", *arguments]
    return name, {key: value for key, value in given.items() if value is not None}, command, names


TRAIN = [
    train("no solver", "solver.prototxt", files={"solver.prototxt": None}),
    train("empty solver", "solver.prototxt", files={"solver.prototxt": ""}),
    train("truncated solver", "solver.prototxt", files={"solver.prototxt": SOLVER[:30]}),
    train("unknown lr_policy", "lr_policy", files={"solver.prototxt": SOLVER.replace("fixed", "wobbly")}),
    train("unknown type of solver", "SGDD", files={"solver.prototxt": SOLVER + 'type: "SGDD"\n'}),
    train("negative iterations", "max_iter", files={"solver.prototxt": SOLVER.replace("max_iter: 2", "max_iter: -2")}),
    train("no net", "net.prototxt", files={"net.prototxt": None}),
    train("broken net", "net.prototxt", "conv", files={"net.prototxt": GOOD.replace("num_output: 4", "")}),
    train("frozen statistics", "use_global_stats", files={"net.prototxt": DATA + layer(
        "bn", "BatchNorm", "batch_norm_param { use_global_stats: true }")}),
    train("no data", "db"),
    train("data of 0 bytes", "db", files={"db/data.mdb": b""}),
    train("data of rubbish", "db", files={"db/data.mdb": b"\x5a" * 40960}),
    train("missing list", "list.txt", files={"net.prototxt": LISTED}),
    train("list of missing images", "gone.png", files={"net.prototxt": LISTED, "list.txt": "gone.png 0\n"}),
    train("list without labels", "list.txt", files={"net.prototxt": LISTED, "list.txt": "cat.png\n", "cat.png": PHOTO}),
    train("corrupt image", "cat.png", files={"net.prototxt": LISTED, "list.txt": "cat.png 0\n", "cat.png": JPEG}),
    train("images smaller than the crop", "8", files={
        "net.prototxt": LISTED.replace("crop_size: 8", "crop_size: 9"), "list.txt": "cat.png 0\n", "cat.png": PHOTO}),
    train("labels that are no classes", "loss", "classes", files={
        "net.prototxt": LISTED, "list.txt": "cat.png 7\n", "cat.png": PHOTO}),
    train("missing weights", "w.caffemodel", files={
        "net.prototxt": LISTED, "list.txt": "cat.png 0\n", "cat.png": PHOTO}, arguments=["--weights", "w.caffemodel"]),
    train("truncated weights", "w.caffemodel", files={
        "net.prototxt": LISTED, "list.txt": "cat.png 0\n", "cat.png": PHOTO, "w.caffemodel": weights()[:-9]},
        arguments=["--weights", "w.caffemodel"]),
    train("weights of another shape", "w.caffemodel", "conv", files={
        "net.prototxt": LISTED, "list.txt": "cat.png 0\n", "cat.png": PHOTO, "w.caffemodel": weights((5, 3, 3, 3))},
        arguments=["--weights", "w.caffemodel"]),
    train("missing state", "s.solverstate", files={
        "net.prototxt": LISTED, "list.txt": "cat.png 0\n", "cat.png": PHOTO}, arguments=["--resume", "s.solverstate"]),
    train("broken state", "s.solverstate", files={
        "net.prototxt": LISTED, "list.txt": "cat.png 0\n", "cat.png": PHOTO, "s.solverstate": b"\xff" * 20},
        arguments=["--resume", "s.solverstate"]),
]


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_MAX, ADDRESS_SPACE_MAX))


def run(program, files, arguments, emulated):
    with tempfile.TemporaryDirectory() as directory:
        for name, content in files.items():
            path = pathlib.Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return subprocess.run([*program, *arguments], cwd=directory, timeout=SECONDS_MAX,
                              capture_output=True, preexec_fn=None if emulated else limit,
                              env={**os.environ, "HOME": directory, "XDG_CACHE_HOME": ""}, check=False)


def complaint(done, names):
    """What is wrong with how the program failed; empty if nothing."""
    lines = done.stderr.decode(errors="replace").splitlines()
    if done.returncode != 1:
        return f"exit code {done.returncode}: {lines[-3:]}"
    if len(lines) != 1 or not lines[0].startswith("shoal: "):
        return f"not one line: {lines[:5]}"
    if len(lines[0]) > 1000:
        return f"a line of {len(lines[0])} characters"
    missing = [name for name in names if name not in lines[0]]
    return f"does not say {missing}: {lines[0]}" if missing else ""


def check(program, cases):
    """Runs and reports them; true if one was not refused as it should be."""
    # A sanitizer reserves more address space than any limit.
    program = [os.path.abspath(part) if os.path.exists(part) else part for part in program]
    emulated = len(program) > 1 or os.environ.get("SHOAL_SANITIZE", "") != ""
    failures = 0
    for name, files, arguments, names in cases:
        try:
            done = run(program, files, arguments, emulated)
            wrong = complaint(done, names)
        except subprocess.TimeoutExpired:
            wrong = f"took more than {SECONDS_MAX} s"
        said = "" if wrong else done.stderr.decode().strip()
        print(f"{'FAIL' if wrong else 'ok'}  {name}: {wrong or said}")
        failures += bool(wrong)
    print(f"{len(cases)} broken inputs, {failures} not refused as they should be")
    return failures > 0


def main():
    cases = NETS + CLASSIFY + OTHERS
    if b"--solver" in subprocess.run([*sys.argv[1:], "train", "--help"], capture_output=True, check=False).stdout:
        cases += TRAIN
    return check(sys.argv[1:], cases)


if __name__ == "__main__":
    sys.exit(main())
