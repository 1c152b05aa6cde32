"""A small S3 for tests: objects in memory, signatures checked, listings in pages, uploads in parts, faults on demand."""
import hashlib
import hmac
import http.server
import os
import re
import signal
import socket
import struct
import sys
import threading
import urllib.parse
import xml.sax.saxutils


def quoted(text, safe="-._~"):
    return urllib.parse.quote(text, safe=safe)


class Fault(object):
    """What the next request that fits will get: a status, "reset", "stall", or ("cut", bytes)."""

    def __init__(self, method, what, count=1, having=""):
        self.method, self.what, self.left, self.having = method, what, count, having


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", headers=(), cut=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name == "Content-Length" for name, value in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body if cut is None else body[:cut])
        if cut is not None:
            self.close_connection = True

    def refuse(self, status, code, message):
        self.answer(status, ("<Error><Code>%s</Code><Message>%s</Message></Error>" % (code, message)).encode())

    def killed(self):
        """At the n-th request that changes something a process is killed (a file says "n pid"), and every other time the
        request is not carried out."""
        if self.command in ("GET", "HEAD") or not self.server.kill or not os.path.exists(self.server.kill):
            return False
        with self.server.lock:
            with open(self.server.kill) as f:
                n, pid = (int(word) for word in f.read().split())
            with open(self.server.kill, "w") as f:
                f.write("%d %d" % (n - 1, pid))
            if n != 1:
                return False
            os.remove(self.server.kill)
            os.kill(pid, signal.SIGKILL)
            self.server.kills += 1
        self.close_connection = self.server.kills % 2 == 0
        return self.close_connection

    def fault(self):
        """The cut of this answer, or None; "done" when there is none at all any more."""
        if self.killed():
            return "done"
        if self.server.silent and os.path.exists(self.server.silent):
            with open(self.server.silent) as f:
                if f.read() in self.path:
                    self.close_connection = True
                    self.refuse(503, "SlowDown", "as the test wants")
                    return "done"
        for fault in self.server.faults:
            if fault.left and fault.method == self.command and fault.having in self.path:
                fault.left -= 1
                if isinstance(fault.what, tuple):
                    return fault.what[1]
                if fault.what == "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()
                elif fault.what == "stall":
                    self.server.stalled.wait(20)
                else:
                    self.refuse(fault.what, self.server.code, "as the test wants")
                self.close_connection = True
                return "done"
        return None

    def run(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        self.server.seen.append((self.command, self.path, self.headers.get("Range")))
        cut = self.fault()
        if cut == "done":
            return
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        if self.server.check and not self.signed(url):
            return self.refuse(403, "SignatureDoesNotMatch", "The request signature does not match")
        bucket, key = (urllib.parse.unquote(url.path)[1:].split("/", 1) + [""])[:2]
        if bucket != self.server.bucket:
            return self.refuse(404, "NoSuchBucket", "The specified bucket does not exist")
        with self.server.lock:
            getattr(self, "on_" + self.command)(key, query, cut)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = run

    def signed(self, url):
        """Is the signature what this server finds, with the secret that both know?"""
        m = re.match(r"AWS4-HMAC-SHA256 Credential=(\w+)/(\d+)/([\w-]+)/s3/aws4_request,\s?SignedHeaders=([\w;-]+),"
                     r"\s?Signature=(\w+)$", self.headers.get("Authorization") or "")
        if not m or m.group(1) != self.server.keys[0]:
            return False
        payload = hashlib.sha256(self.body).hexdigest()
        if self.headers["x-amz-content-sha256"] != payload:
            return False
        pairs = urllib.parse.parse_qsl(url.query, keep_blank_values=True)
        query = "&".join(sorted("%s=%s" % (quoted(k), quoted(v)) for k, v in pairs))
        names = m.group(4).split(";")
        lines = "".join("%s:%s\n" % (name, self.headers[name].strip()) for name in names)
        text = "\n".join([self.command, quoted(urllib.parse.unquote(url.path), "/-._~"), query, lines, m.group(4), payload])
        scope = "%s/%s/s3/aws4_request" % (m.group(2), m.group(3))
        to_sign = "\n".join(["AWS4-HMAC-SHA256", self.headers["x-amz-date"], scope, hashlib.sha256(text.encode()).hexdigest()])
        key = ("AWS4" + self.server.keys[1]).encode()
        for word in scope.split("/"):
            key = hmac.new(key, word.encode(), hashlib.sha256).digest()
        return hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest() == m.group(5)

    def etag(self, body):
        return '"%s"' % hashlib.md5(body).hexdigest()

    def on_HEAD(self, key, query, cut):
        body = self.server.objects.get(key)
        if body is None:
            return self.answer(404)
        self.answer(200, b"", [("Content-Length", str(len(body))), ("ETag", self.etag(body))])

    def on_GET(self, key, query, cut):
        if not key and "list-type" in query:
            return self.listing(query)
        body = self.server.objects.get(key)
        if body is None:
            return self.refuse(404, "NoSuchKey", "The specified key does not exist.")
        if self.headers.get("If-Match") not in (None, self.etag(body)):
            return self.refuse(412, "PreconditionFailed", "At least one of the conditions did not hold")
        m = re.match(r"bytes=(\d+)-(\d+)$", self.headers.get("Range") or "")
        if not m or self.server.no_ranges:
            return self.answer(200, body, [("ETag", self.etag(body))], cut)
        first, last = int(m.group(1)), min(int(m.group(2)), len(body) - 1)
        if first >= len(body):  # any range of an empty object
            return self.refuse(416, "InvalidRange", "The requested range is not satisfiable")
        self.answer(206, body[first:last + 1], [("Content-Range", "bytes %d-%d/%d" % (first, last, len(body))),
                                                ("ETag", self.etag(body))], cut)

    def listing(self, query):
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        most, after = min(int(query.get("max-keys", 1000)), self.server.page), query.get("continuation-token", "")
        found = {}
        for key in sorted(self.server.objects):
            if not key.startswith(prefix):
                continue
            at = key.find(delimiter, len(prefix)) if delimiter else -1
            found[key if at < 0 else key[:at + 1]] = at >= 0
        names = [name for name in sorted(found) if name > after]
        out = ['<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">']
        out.append("<IsTruncated>%s</IsTruncated>" % ("true" if len(names) > most else "false"))
        if len(names) > most:
            out.append("<NextContinuationToken>%s</NextContinuationToken>" % xml.sax.saxutils.escape(names[most - 1]))
        for name in names[:most]:
            text = xml.sax.saxutils.escape(name)
            if found[name]:
                out.append("<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>" % text)
            else:
                out.append("<Contents><Key>%s</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><Size>%d</Size>"
                           "</Contents>" % (text, len(self.server.objects[name])))
        self.answer(200, "".join(out + ["</ListBucketResult>"]).encode())

    def on_PUT(self, key, query, cut):
        source = self.headers.get("x-amz-copy-source")
        if source:
            from_bucket, from_key = urllib.parse.unquote(source)[1:].split("/", 1)
            body = self.server.objects.get(from_key)
            if body is None:
                return self.refuse(404, "NoSuchKey", "The specified key does not exist.")
            if "uploadId" in query:
                first, last = re.match(r"bytes=(\d+)-(\d+)$", self.headers["x-amz-copy-source-range"]).groups()
                body = body[int(first):int(last) + 1]
                self.server.uploads[query["uploadId"]][int(query["partNumber"])] = body
                return self.answer(200, ("<CopyPartResult><ETag>%s</ETag></CopyPartResult>" % self.etag(body)).encode())
            self.server.objects[key] = body
            return self.answer(200, b"<CopyObjectResult></CopyObjectResult>")
        if "uploadId" in query:
            self.server.uploads[query["uploadId"]][int(query["partNumber"])] = self.body
        else:
            self.server.objects[key] = self.body
        self.answer(200, b"", [("ETag", self.etag(self.body))])

    def on_POST(self, key, query, cut):
        if "uploads" in query:
            name = "up/%d+=" % (len(self.server.uploads) + 1)
            self.server.uploads[name] = {}
            return self.answer(200, ("<InitiateMultipartUploadResult><UploadId>%s</UploadId>"
                                     "</InitiateMultipartUploadResult>" % name).encode())
        parts = self.server.uploads.pop(query["uploadId"])
        said = re.findall(r"<PartNumber>(\d+)</PartNumber><ETag>(.*?)</ETag>", self.body.decode())
        if said != [(str(n), self.etag(parts[n])) for n in sorted(parts)]:
            return self.refuse(400, "InvalidPart", "One or more of the parts could not be found")
        self.server.parts = [len(parts[n]) for n in sorted(parts)]
        self.server.objects[key] = b"".join(parts[n] for n in sorted(parts))
        self.answer(200, b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")

    def on_DELETE(self, key, query, cut):
        if "uploadId" in query:
            self.server.uploads.pop(query["uploadId"], None)
        else:
            self.server.objects.pop(key, None)
        self.answer(204)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    kill, kills = None, 0  # a file: see killed()
    code = "Injected"  # of statuses that faults give
    silent = None  # a file with a part of a path: requests of it are answered with 503

    def __init__(self, handler):
        http.server.ThreadingHTTPServer.__init__(self, ("127.0.0.1", 0), handler)
        self.faults, self.seen, self.lock, self.stalled = [], [], threading.Lock(), threading.Event()
        self.url = "http://127.0.0.1:%d" % self.server_port
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def handle_error(self, request, address):
        pass

    def end(self):
        self.stalled.set()
        self.shutdown()
        self.server_close()


class S3(Server):
    bucket, keys, page, check, no_ranges = "box", ("AKIDTEST", "a/secret+key"), 3, True, False

    def __init__(self):
        self.objects, self.uploads, self.parts = {}, {}, None
        Server.__init__(self, Handler)


def serve(server, objects, folder):
    """Serves what lies in the folder, prints its address; objects are written to FOLDER.out at SIGTERM. FOLDER.kill, FOLDER.silent: as in Server"""
    server.kill, server.silent = folder + ".kill", folder + ".silent"
    for place, folders, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as f:
                objects[os.path.relpath(path, folder)] = f.read()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    print(server.url, flush=True)
    signal.sigwait([signal.SIGTERM])
    with open(folder + ".seen", "w") as f:
        f.writelines("%s %s\n" % request[:2] for request in server.seen)
    for name, body in objects.items():
        path = os.path.join(folder + ".out", name.lstrip("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not name.endswith("/"):
            with open(path, "wb") as f:
                f.write(body)


if __name__ == "__main__":
    # s3_server.py FOLDER [full | readonly]: files of FOLDER are s3://box/...; readonly: nothing can be written, full: no models
    s3 = S3()
    s3.page = 1000
    s3.faults = [Fault("PUT", 403, 1 << 30, "" if "readonly" in sys.argv else "rec_static")] if sys.argv[2:] else []
    serve(s3, s3.objects, sys.argv[1])
