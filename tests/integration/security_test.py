#!/usr/bin/env python3
"""Whoever does not belong to a cluster, or does what members do not do, is refused with one clear
line and logged once; nothing secret is said to anybody, and the head goes on.

  security_test.py SHOAL MODEL
"""

import json
import os
import pathlib
import re
import socket
import ssl
import struct
import sys
import tempfile
import threading
import time

from observed import Place, wait_for

SHOAL, MODEL = (os.path.abspath(path) for path in sys.argv[1:3])


def split(address):
    host, port = address.rsplit(":", 1)
    return host, int(port)


def closed(connection, seconds=20):
    """Whether the other side hangs up; what it says until then."""
    connection.settimeout(seconds)
    heard = b""
    try:
        while piece := connection.recv(4096):
            heard += piece
    except (ConnectionError, ssl.SSLError):
        pass  # Hanging up with a vengeance; TimeoutError is not one of these.
    return heard


class Member:
    """A node's links to the head, by hand. See docs/protocol.md."""

    def __init__(self, place, directory):
        self.node = json.loads((directory / "node.json").read_text())["node"]
        context = ssl.create_default_context(cafile=directory / "ca.crt")
        context.check_hostname = False
        context.load_cert_chain(directory / "node.crt", directory / "node.key")
        address = split(place.addresses["cluster"])
        self.main, self.bulk = (self.dial(context, address, role) for role in (0, 1))

    def dial(self, context, address, role):
        connection = context.wrap_socket(socket.create_connection(address, timeout=20))
        connection.sendall(struct.pack("<4sHBBQQQ", b"SHOL", 1, role, 0, self.node, 1, 4711))
        answer = self.take(connection, 32)
        assert answer[7] == 0, f"verdict {answer[7]}"
        return connection

    @staticmethod
    def take(connection, size):
        heard = b""
        while len(heard) < size:
            piece = connection.recv(size - len(heard))
            assert piece, "it hung up"
            heard += piece
        return heard

    @staticmethod
    def header(kind, frame_bytes, slice_bytes):
        return struct.pack("<BBHIII", 0xa7, kind, 0, frame_bytes, 0, slice_bytes)

    def send(self, connection, kind, frame):
        connection.sendall(self.header(kind, len(frame), len(frame)) + frame)

    def ask_for_layer(self, name):
        """The kind of the piece that comes back."""
        self.send(self.bulk, 2, struct.pack("<III", 1, 0, 0) + bytes.fromhex(name))
        while True:
            _, kind, _, _, _, size = struct.unpack("<BBHIII", self.take(self.bulk, 16))
            frame = self.take(self.bulk, size)
            if kind == 2:
                return struct.unpack_from("<I", frame)[0]


def enrol(place, name):
    """A member that does not run."""
    place.must_work("join", place.addresses["enrol"], place.token(), "--dir", place.root / name, "--enrol-only")
    return place.root / name


def members(place):
    return json.loads((place.root / "head" / "nodes.json").read_text())["nodes"]


def change_tokens(place, **fields):
    path = place.root / "head" / "tokens.json"
    tokens = json.loads(path.read_text())
    for token in tokens["tokens"]:
        token.update(fields)
    path.write_text(json.dumps(tokens))


def test_tokens(place):
    head = place.serve()
    node = place.root / "node"

    def refused(words, *invitation):
        return place.must_fail(words, "join", place.addresses["enrol"], *invitation, "--dir", node)

    refused(["the join token is missing", "shoal token"])
    refused(["not a whole join token", "shoal token"], "SHOAL1-secret")
    used = place.token()
    place.must_work("join", place.addresses["enrol"], used, "--dir", place.root / "first", "--enrol-only")
    refused(["this join token was used before", "shoal token"], used)
    expired = place.token()
    change_tokens(place, expires_at=1)
    refused(["expired", "shoal token"], expired)
    unknown = place.token()
    change_tokens(place, sha256="0" * 64)
    refused(["shoal token"], unknown)
    with tempfile.TemporaryDirectory() as other:
        place.must_work("init", "--dir", other)
        foreign = json.loads(place.must_work("token", "--dir", other, "--address", "h:1", "--json"))["token"]
    refused(["the join token is of another cluster than the head there"], foreign)
    place.must_fail(["port for members", "shoal token"], "join", place.addresses["cluster"], place.token(), "--dir",
                    node)
    assert head.lines("enrolment: refused") == ["enrolment: refused 127.0.0.1: token was used before"], head.lines()
    assert len(members(place)) == 2, members(place)
    for token in (used, expired, unknown):
        assert not any(group in head.log.read_text() for group in token.split("-")[1:]), "a secret in the log"


def test_foreign_authority(place):
    head = place.serve()
    with tempfile.TemporaryDirectory() as root:
        other = Place(SHOAL, MODEL, root)
        try:
            other.serve()
            directory = enrol(other, "node")
            file = directory / "node.json"
            file.write_text(file.read_text().replace(other.addresses["cluster"], place.addresses["cluster"]))
            node = other.again("node")
            node.wait_for(f"no link to the head at {place.addresses['cluster']}, trying again: .*certificate")
            head.wait_for("cluster port: refused 127.0.0.1: ")
            time.sleep(1)  # It has tried again.
            assert len(head.lines("refused")) == 1, head.lines()
        finally:
            other.close()


def test_revoked(place):
    head = place.serve()
    node = place.join("node")
    place.answer()
    place.must_work("nodes", "evict", "2", "--dir", place.root / "head")
    node.wait_for("evicted from the cluster; to come back, delete its directory and join with a new token")
    line = head.wait_for("refused")
    assert line == "cluster port: refused 127.0.0.1: node 2: this node was evicted from the cluster", line
    node.stop()
    place.again("node").wait_for("evicted from the cluster")
    assert len(head.lines("refused")) == 1, head.lines()


def test_plain_text(place):
    head = place.serve()
    for name, door in (("cluster", "cluster port"), ("enrol", "enrolment")):
        for _ in range(3):
            with socket.create_connection(split(place.addresses[name])) as peer:
                peer.sendall(b"GET / HTTP/1.1\r\nHost: head\r\n\r\n")
                assert b"HTTP" not in closed(peer)
        assert head.lines(door) == [f"{door}: refused 127.0.0.1: TLS: http request"], head.lines()


def test_replayed_handshake(place):
    """Somebody between the two keeps what a phone said, and says it again."""
    head = place.serve()
    heard = []
    listener = socket.create_server(("127.0.0.1", 0))

    def pass_on(source, sink, kept):
        try:
            while piece := source.recv(65536):
                kept.append(piece)
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def between():
        phone, _ = listener.accept()
        with phone, socket.create_connection(split(place.addresses["enrol"])) as there:
            back = threading.Thread(target=pass_on, args=(there, phone, []))
            back.start()
            pass_on(phone, there, heard)
            back.join()

    thread = threading.Thread(target=between)
    thread.start()
    address = "127.0.0.1:%d" % listener.getsockname()[1]
    place.must_work("join", address, place.token("--uses", "5"), "--dir", place.root / "node", "--enrol-only")
    thread.join()
    assert len(members(place)) == 2 and heard
    for _ in range(2):
        with socket.create_connection(split(place.addresses["enrol"])) as peer:
            peer.sendall(b"".join(heard))
            closed(peer)
    assert len(members(place)) == 2, members(place)
    assert len(head.lines("enrolment: refused 127.0.0.1: ")) == 1, head.lines()


def test_frames(place):
    head = place.serve()
    directory = enrol(place, "node")
    for frame in (Member.header(0, 1 << 30, 1), Member.header(1, 1 << 30, 1), b"\xff" * 64):
        member = Member(place, directory)
        member.main.sendall(frame)
        closed(member.main)
    lines = head.lines("refused")
    assert len(lines) == 1 and lines[0].startswith("cluster port: refused node 2: slice header: "), head.lines()
    # Half a frame, and the end of the link.
    member = Member(place, directory)
    member.main.sendall(Member.header(0, 100, 100) + b"x" * 50)
    member.main.close()
    # Whole frames that mean nothing.
    member = Member(place, directory)
    for frame in (b"\xff" * 10, b"", b"\x0a\x03\x12\x01\xff"):
        member.send(member.main, 0, frame)
        member.send(member.main, 1, struct.pack("<QQ", 1, 1) + frame)
        member.send(member.bulk, 2, frame)
    head.wait_for(r"node 2 sends what no node sends \(.*\); ignored")
    time.sleep(0.5)
    assert len(head.lines("sends what no node sends")) == 1, head.lines()
    assert not head.lines("libprotobuf"), head.lines()


def test_slow_peers(place):
    head = place.serve()

    def drip(address):
        begin = time.monotonic()
        with socket.create_connection(split(address)) as peer:
            for byte in b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" + b"\x03" * 100:
                try:
                    peer.sendall(bytes([byte]))
                except OSError:
                    break
                time.sleep(0.3)
        assert time.monotonic() - begin < 25, "it was listened to for too long"

    threads = [threading.Thread(target=drip, args=(place.addresses[name],)) for name in ("cluster", "enrol") * 3]
    for thread in threads:
        thread.start()
    # Meanwhile, others are let in.
    place.join("node")
    place.answer()
    for thread in threads:
        thread.join()
    assert len(head.lines("cluster port: refused 127.0.0.1: ")) == 1, head.lines()
    assert len(head.lines("enrolment: refused 127.0.0.1: ")) == 1, head.lines()


def test_layers_not_given(place):
    head = place.serve()
    directory = enrol(place, "curious")
    member = Member(place, directory)
    layers = [path.stem for path in (place.root / "head" / "cache" / "layers").glob("*.layer")]
    assert layers
    for name in [*layers, "00" * 32]:
        assert member.ask_for_layer(name) == 3, "given"
    assert head.lines("asked for") == ["node 2 asked for a layer that it was not given; refused"], head.lines()


def main():
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        print(name, flush=True)
        with tempfile.TemporaryDirectory(prefix="shoal-security-") as root:
            place = Place(SHOAL, MODEL, pathlib.Path(root))
            try:
                test(place)
                # Whatever was tried, the head goes on, and nothing that is secret was said.
                assert place.head.process.poll() is None, place.head.log.read_text()
                said = "".join(path.read_text() for path in place.root.glob("*.log"))
                key = (place.root / "head" / "admin.key").read_text().strip()
                assert key not in said and "PRIVATE KEY" not in said
            finally:
                place.close()
    print("ok")


if __name__ == "__main__":
    main()
