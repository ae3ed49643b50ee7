"""A web server that misbehaves as told, for pull_test.py and pull_hub_test.py. Every path has a File behind it."""
import hashlib
import http.server
import json
import re
import ssl
import threading


class File:
    """What a path answers, and how it misbehaves."""

    def __init__(self, data=b"", **how):
        self.data = data
        self.etag = how.pop("etag", '"' + hashlib.md5(data).hexdigest() + '"')
        self.ranges = how.pop("ranges", True)      # False: ignores Range.
        self.cut = how.pop("cut", [])              # Bytes after which to hang up, for each request.
        self.statuses = how.pop("statuses", [])    # Answered first, one for each request.
        self.headers = how.pop("headers", {})
        self.location = how.pop("location", None)  # A redirect.
        self.chunked = how.pop("chunked", False)
        self.claim = how.pop("claim", None)        # A Content-Length that is a lie.
        self.pause = how.pop("pause", None)        # (bytes, event): waits there for the event.
        self.raw = how.pop("raw", None)            # Sent instead of everything.
        self.asked = []                            # The headers of every request.
        assert not how, how


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.close_connection = True
        file = self.server.files.get(self.path)
        if file is None:
            return self.send_error(404)
        file.asked.append(dict(self.headers))
        if file.raw is not None:
            return self.wfile.write(file.raw)
        if file.statuses:
            status = file.statuses.pop(0)
            self.send_response(status)
            for name, value in file.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if file.location is not None:
            self.send_response(302)
            self.send_header("Location", file.location)
            for name, value in file.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        return self.send_file(file)

    def send_file(self, file):
        begin, size = 0, len(file.data)
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        same = self.headers.get("If-Range", file.etag) == file.etag
        if wanted and file.ranges and same:
            begin = int(wanted.group(1))
            if begin >= size:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{size}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{size - 1}/{size}")
        else:
            self.send_response(200)
        if file.etag:
            self.send_header("ETag", file.etag)
        for name, value in file.headers.items():
            self.send_header(name, value)
        body = file.data[begin:]
        if file.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for at in range(0, len(body), 1000):
                piece = body[at:at + 1000]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            return self.wfile.write(b"0\r\n\r\n")
        self.send_header("Content-Length", str(file.claim or len(body)))
        self.end_headers()
        if file.pause is not None:
            at, event = file.pause
            self.wfile.write(body[:at])
            self.wfile.flush()
            event.wait(60)
            body = body[at:]
        self.wfile.write(body[:file.cut.pop(0)] if file.cut else body)


class Site:
    """A server on a port of its own until the end of `with`. `certificate`: (certificate, key) files."""

    def __init__(self, files=None, certificate=None):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # The client is killed on purpose.
        self.server.files = self.files = files or {}
        scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            scheme = "https"
        self.port = self.server.server_address[1]
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def add_repository(site, name, contents, linked=True, pages=1):
    """Makes `site` answer for a repository of Hugging Face with these {path: bytes}."""
    entries = [{"type": "directory", "oid": "0", "size": 0, "path": "folder"}]
    for path, data in contents.items():
        entry = {"type": "file", "oid": "0", "size": len(data), "path": path}
        if linked and not path.endswith(".json"):
            entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
        entries.append(entry)
        site.files[f"/{name}/resolve/main/{path}"] = File(data)
    tree = f"/api/models/{name}/tree/main?recursive=true"
    step = -(-len(entries) // pages)
    for page in range(pages):
        headers = {}
        if page + 1 < pages:
            headers["Link"] = f'<{site.url}{tree}&cursor={page + 1}>; rel="next"'
        part = entries[page * step:(page + 1) * step]
        path = tree + (f"&cursor={page}" if page else "")
        site.files[path] = File(json.dumps(part).encode(), headers=headers, chunked=True)
