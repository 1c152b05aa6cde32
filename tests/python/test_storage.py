"""Remote files: S3 and WebHDFS against servers on loopback that check and fail, HDFS by a hadoop command."""
import gzip
import os
import pwd
import shutil
import socket
import tempfile
import threading
import unittest

import paddle
from paddle.distributed.fleet.utils import HDFSClient
from paddle.distributed.fleet.utils.fs import ExecuteError, FSFileExistsError, FSFileNotExistsError
from s3_server import S3, Fault
from skiff import _native
from webhdfs_server import WebHDFS

NAMES = ("SKIFF_", "AWS_", "HADOOP_", "http_proxy", "all_proxy", "no_proxy")


def pattern(n):
    return (b"%08d" * 1000 % tuple(range(1000)) * (n // 8000 + 1))[:n]


class Storage(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.before = dict(os.environ)
        for name in list(os.environ):
            if name.lower().startswith(tuple(n.lower() for n in NAMES)) and name != "SKIFF_HOME":
                del os.environ[name]
        os.environ.update({"SKIFF_FS_PAUSE": "2", "SKIFF_FS_TIMEOUT": "1", "TMPDIR": self.at("tmp")})
        os.mkdir(self.at("tmp"))

    def tearDown(self):
        self.assertEqual(os.listdir(self.at("tmp")), [])
        os.environ.clear()
        os.environ.update(self.before)
        shutil.rmtree(self.folder)

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, data):
        with open(self.at(name), "wb") as f:
            f.write(data)
        return self.at(name)

    def fails(self, words, call, *args):
        with self.assertRaises(Exception) as caught:
            call(*args)
        for word in words.split(" ... "):
            self.assertIn(word, str(caught.exception))


class WithS3(Storage):
    def setUp(self):
        Storage.setUp(self)
        self.s = S3()
        os.environ.update({"SKIFF_S3_ENDPOINT": self.s.url, "AWS_ACCESS_KEY_ID": self.s.keys[0],
                           "AWS_SECRET_ACCESS_KEY": self.s.keys[1], "AWS_REGION": "eu-west-7"})

    def tearDown(self):
        self.s.end()
        Storage.tearDown(self)


class OnS3(WithS3):
    def test_read_and_write(self):
        _native.fs_write("s3://box/a b/ü+&=x.txt", b"hello")
        self.assertEqual(self.s.objects, {"a b/ü+&=x.txt": b"hello"})
        self.assertEqual(_native.fs_read("s3://box/a b/ü+&=x.txt"), b"hello")
        _native.fs_write("s3://box/empty", b"")
        self.assertEqual(_native.fs_read("s3://box/empty"), b"")
        self.assertEqual(_native.fs_look("s3://box/a b/ü+&=x.txt")[:2], (False, 5))
        self.assertEqual(_native.fs_look("s3://box/a b")[0], True)
        self.assertEqual(_native.fs_look("s3://box")[0], True)
        self.assertIsNone(_native.fs_look("s3://box/a"))
        self.assertEqual(_native.fs_kind("s3://box/a"), ("s3", False))

    def test_sizes_without_head(self):
        """HEAD is refused (a policy, a proxy): the size of the object is in the answer to GET of its first byte."""
        self.s.objects.update({"f": b"0123456789", "empty": b""})
        for name, size in (("f", 10), ("empty", 0)):
            self.s.faults = [Fault("HEAD", 403)]
            self.assertEqual(_native.fs_look("s3://box/" + name)[:2], (False, size))
        self.s.faults = [Fault("HEAD", 403), Fault("GET", 403, having="/box/f")]
        self.fails("s3://box/f: GET at ... answers with status 403", _native.fs_look, "s3://box/f")

    def test_listing_in_pages(self):
        for i in range(8):
            self.s.objects["d/f<%d>" % i] = b"x" * i
        self.s.objects.update({"d/": b"", "d/sub/x": b"1", "d/sub/y": b"2", "dx": b""})
        want = [("s3://box/d/f<%d>" % i, False, i, 1767323045) for i in range(8)] + [("s3://box/d/sub", True, 0, 0)]
        self.assertEqual(_native.fs_list("s3://box/d"), want)
        self.assertEqual(_native.fs_list("s3://box/d/"), want)
        self.assertEqual([e[0] for e in _native.fs_list("s3://box/d*/s*/[y]")], ["s3://box/d/sub/y"])
        self.assertEqual([e[0] for e in _native.fs_list("s3://box/d/f?[37]*")], ["s3://box/d/f<3>", "s3://box/d/f<7>"])
        self.fails("s3://box/none: there is no such file or folder", _native.fs_list, "s3://box/none")
        self.s.seen.clear()
        self.assertEqual(len(_native.fs_list("s3://box/d")), len(want))
        self.assertEqual({p.split("&")[-1] for m, p, r in self.s.seen}, {"prefix=d%2F"})  # nothing but its pages
        self.fails("s3://box/dx: is a file, a folder was expected", _native.fs_list, "s3://box/dx")

    def test_large_files_go_in_parts(self):
        data = pattern((20 << 20) + 7)
        self.s.faults = [Fault("PUT", 503), Fault("PUT", "reset", having="partNumber=2"), Fault("POST", 500)]
        _native.fs_copy(self.write("big", data), "s3://box/big")
        self.assertEqual(self.s.parts, [8 << 20, 8 << 20, (4 << 20) + 7])
        self.assertTrue(self.s.objects["big"] == data)
        self.s.seen.clear()
        _native.fs_copy("s3://box/big", self.at("back"))
        with open(self.at("back"), "rb") as f:
            self.assertTrue(f.read() == data)
        self.assertEqual([r for m, p, r in self.s.seen if m == "GET"][0], "bytes=0-4194303")
        self.assertEqual([m for m, p, r in self.s.seen], ["HEAD"] + ["GET"] * 6)

    def test_large_objects_are_copied_in_parts(self):
        size = (256 << 20) + 7
        os.environ["SKIFF_FS_TIMEOUT"] = "60"  # the server takes a second for a checksum
        self.s.objects.update({"d/big": b"x" * (256 << 20) + b"the end", "d/small": b"1"})
        self.s.faults = [Fault("PUT", 503, having="partNumber=2")]
        _native.fs_rename("s3://box/d", "s3://box/e")
        self.assertEqual((sorted(self.s.objects), self.s.parts, self.s.uploads), (["e/big", "e/small"], [256 << 20, 7], {}))
        self.assertTrue(len(self.s.objects["e/big"]) == size and self.s.objects["e/big"].endswith(b"xxthe end"))
        handler = self.s.RequestHandlerClass
        put = handler.on_PUT
        handler.on_PUT = lambda h, key, query, cut: h.answer(200, b"")
        try:
            self.fails("s3://box/f: 127.0.0.1: ... copies a part without giving its ETag", _native.fs_rename, "s3://box/e/big",
                       "s3://box/f")
        finally:
            handler.on_PUT = put
        self.s.faults = [Fault("PUT", 403, having="partNumber=2")]
        self.fails("s3://box/f: PUT at 127.0.0.1: ... answers with status 403: Injected", _native.fs_rename, "s3://box/e/big",
                   "s3://box/f")
        self.assertEqual((sorted(self.s.objects), self.s.uploads), (["e/big", "e/small"], {}))

    def test_answers_without_what_they_must_say(self):
        handler = self.s.RequestHandlerClass
        post = handler.on_POST
        handler.on_POST = lambda h, key, query, cut: h.answer(200, b"<Nothing></Nothing>")
        try:
            self.fails("s3://box/big: 127.0.0.1: ... begins an upload in parts without giving its UploadId", _native.fs_write,
                       "s3://box/big", pattern(9 << 20))
        finally:
            handler.on_POST = post

    def test_an_upload_that_fails_is_given_up(self):
        self.s.faults = [Fault("PUT", 403, having="partNumber=2")]
        self.fails("s3://box/big: PUT at 127.0.0.1:%d answers with status 403: Injected: as the test wants; check "
                   "AWS_ACCESS_KEY_ID" % self.s.server_port, _native.fs_write, "s3://box/big", pattern(17 << 20))
        self.assertEqual((self.s.objects, self.s.uploads), ({}, {}))

    def test_broken_connections(self):
        data = self.s.objects["f"] = pattern(5 << 20)
        self.s.faults = [Fault("HEAD", 500), Fault("GET", ("cut", 1000)), Fault("GET", ("cut", 0)), Fault("GET", "reset"),
                         Fault("GET", "stall"), Fault("GET", 429), Fault("GET", ("cut", 70000))]
        self.assertTrue(_native.fs_read("s3://box/f") == data)
        ranges = [r for m, p, r in self.s.seen if m == "GET"]
        self.assertEqual(ranges[:6], ["bytes=0-4194303"] + ["bytes=1000-4194303"] * 5)
        self.assertEqual(ranges[-2:], ["bytes=71000-4194303", "bytes=4194304-5242879"])

    def test_what_stays_broken_ends(self):
        os.environ["SKIFF_FS_TRIES"] = "3"
        self.s.objects["f"] = b"abc"
        host = "127.0.0.1:%d" % self.s.server_port
        self.s.faults = [Fault("GET", 503, 99)]
        self.fails("s3://box/f: GET at %s answers with status 503: Injected: as the test wants; all attempts failed: try again later"
                   % host, _native.fs_read, "s3://box/f")
        self.assertEqual(len([m for m, p, r in self.s.seen if m == "GET"]), 3)
        self.s.faults = [Fault("GET", 403, 99)]
        self.s.seen.clear()
        self.fails("answers with status 403: Injected", _native.fs_read, "s3://box/f")
        self.assertEqual(len([m for m, p, r in self.s.seen if m == "GET"]), 1)
        os.environ["SKIFF_FS_TRIES"] = "1"
        self.s.faults = [Fault("GET", "stall", 99)]
        with self.assertRaisesRegex(TimeoutError, "s3://box/f: GET at %s failed, tried 1 times: .*; is the server up" % host):
            _native.fs_read("s3://box/f")
        self.s.faults = []
        self.s.no_ranges = True
        self.fails("s3://box/f: %s answers with status 200 to a question for a part of the file, 206 was expected" % host,
                   _native.fs_read, "s3://box/f")

    def test_nobody_there(self):
        os.environ["SKIFF_FS_TRIES"] = "2"
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            os.environ["SKIFF_S3_ENDPOINT"] = "http://127.0.0.1:%d" % s.getsockname()[1]
            self.fails("s3://box/f: GET at 127.0.0.1: ... failed, tried 2 times: ... is the server up", _native.fs_read,
                       "s3://box/f")
        os.environ["SKIFF_S3_ENDPOINT"] = "localhost"
        self.fails('the endpoint of S3 is "localhost"; write http://host:port', _native.fs_read, "s3://box/f")
        self.fails("s3:///f: no bucket; write s3://bucket/key", _native.fs_read, "s3:///f")
        self.fails("gs://a/b: no file system is called gs; known are s3", _native.fs_read, "gs://a/b")

    def test_keys(self):
        self.s.objects["f"] = b"abc"
        os.environ["AWS_SECRET_ACCESS_KEY"] = "wrong"
        text = ("status 403: SignatureDoesNotMatch: The request signature does not match; the secret key is not that of the "
                "access key: check AWS_SECRET_ACCESS_KEY, and AWS_REGION")
        self.fails(text, _native.fs_list, "s3://box/")
        self.fails(text, _native.fs_look, "s3://box/f")  # an answer to HEAD has no text
        settings = (self.s.url, self.s.keys[0], self.s.keys[1], "", "")
        self.assertEqual(_native.fs_read("s3://box/f", settings), b"abc")
        os.environ["AWS_SECRET_ACCESS_KEY"], os.environ["AWS_SESSION_TOKEN"] = self.s.keys[1], "tok"
        self.assertEqual(_native.fs_read("s3://box/f"), b"abc")
        for call in (_native.fs_list, _native.fs_look, _native.fs_read):
            self.fails("s3://other/f: GET at 127.0.0.1: ... status 404: NoSuchBucket: The specified bucket does not exist; there is "
                       "no such bucket: create it, or correct its name, SKIFF_S3_ENDPOINT or AWS_REGION", call, "s3://other/f")
        self.fails("s3://other/f: PUT at 127.0.0.1: ... status 404: NoSuchBucket", _native.fs_write, "s3://other/f", b"x")

    def test_refusals_say_what_to_do(self):
        for code, words in (("AccessDenied", "these keys have no right to do that: the bucket's owner must allow s3:ListBucket"),
                            ("InvalidAccessKeyId", "the server does not know this access key: check AWS_ACCESS_KEY_ID"),
                            ("RequestTimeTooSkewed", "this machine's clock is wrong"),
                            ("ExpiredToken", "the session has expired: get new keys and a new AWS_SESSION_TOKEN"),
                            ("Other", "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, the rights on the bucket")):
            self.s.faults = [Fault(method, 403, 9) for method in ("GET", "HEAD", "PUT")]
            self.s.code = code
            for call in ((_native.fs_read, "s3://box/f"), (_native.fs_look, "s3://box/f"), (_native.fs_list, "s3://box/f"),
                         (_native.fs_write, "s3://box/f", b"x")):
                self.fails("s3://box/f: ... status 403: %s: as the test wants; %s" % (code, words), *call)

    def test_listings_that_do_not_end(self):
        """A server that says for ever that there is more; with other and with the same names and tokens."""
        handler = self.s.RequestHandlerClass
        listing, asked = handler.listing, []

        def page(names, token, truncated=True):
            def answer(h, query):
                asked.append(query.get("continuation-token"))
                h.answer(200, ("<ListBucketResult><IsTruncated>%s</IsTruncated>%s%s</ListBucketResult>" % (
                    str(truncated).lower(), "".join("<Contents><Key>%s</Key></Contents>" % n for n in names(len(asked))),
                    token(len(asked)))).encode())
            return answer

        def token(i):
            return "<NextContinuationToken>%s</NextContinuationToken>" % i

        same, new = (lambda i: ["d/a", "d/b"]), (lambda i: ["d/%08d" % i])
        try:
            for names, tokens, requests, words in (
                    (same, token, 2, "says behind 4 names that there are more, and gives the same names again"),
                    (new, lambda i: token("x"), 2, "says behind 2 names that there are more, at the same place again"),
                    (lambda i: [], token, 1, "says behind 0 names that there are more, and gives none"),
                    (new, lambda i: "", 1, "says behind 1 names that there are more, and not where they begin")):
                del asked[:]
                handler.listing = page(names, tokens)
                self.fails("s3://box/d: 127.0.0.1:%d %s: its listing is broken" % (self.s.server_port, words), _native.fs_list,
                           "s3://box/d")
                self.assertEqual(len(asked), requests)
            handler.listing = page(same, token, False)  # a token behind the last page is no page
            self.assertEqual([e[0] for e in _native.fs_list("s3://box/d")], ["s3://box/d/a", "s3://box/d/b"])
        finally:
            handler.listing = listing

    def test_empty_objects(self):
        self.s.objects["f"] = b""
        self.assertEqual(_native.fs_read("s3://box/f"), b"")

    def test_several_at_a_time(self):
        """Files of a folder go beside each other: none is answered before two have come."""
        handler, both = self.s.RequestHandlerClass, threading.Barrier(2, timeout=20)
        put, get = handler.on_PUT, handler.on_GET

        def waiting(of):
            def run(h, key, query, cut):
                if key:
                    h.server.lock.release()
                    try:
                        both.wait()
                    finally:
                        h.server.lock.acquire()
                of(h, key, query, cut)
            return run

        for name in "abcd":
            self.write(name, name.encode())
        handler.on_PUT, handler.on_GET = waiting(put), waiting(get)
        os.environ["SKIFF_FS_TIMEOUT"] = "30"
        try:
            os.mkdir(self.at("up"))
            for name in "abcd":
                os.rename(self.at(name), self.at("up", name))
            _native.fs_copy(self.at("up"), "s3://box/up")
            _native.fs_copy("s3://box/up", self.at("down"))
        finally:
            handler.on_PUT, handler.on_GET = put, get
        self.assertEqual(self.s.objects, {"up/" + name: name.encode() for name in "abcd"})
        self.assertEqual(sorted(os.listdir(self.at("down"))), list("abcd"))

    def test_changing(self):
        self.s.objects.update({"d/a": b"1", "d/sub/b": b"2", "dd": b"3"})
        _native.fs_rename("s3://box/d", "s3://box/e")
        self.assertEqual(self.s.objects, {"e/a": b"1", "e/sub/b": b"2", "dd": b"3"})
        self.fails("s3://box/dd cannot be renamed to s3://box/e: the target exists", _native.fs_rename, "s3://box/dd",
                   "s3://box/e")
        self.fails("another file system", _native.fs_rename, "s3://box/dd", "/tmp/x")
        _native.fs_mkdirs("s3://box/new/one")
        self.assertEqual(_native.fs_look("s3://box/new/one")[0], True)
        _native.fs_copy("s3://box/e", self.at("got"))
        self.assertEqual(sorted(os.listdir(self.at("got"))), ["a", "sub"])
        _native.fs_copy(self.at("got"), "s3://box/up")
        self.assertEqual(self.s.objects["up/sub/b"], b"2")
        for name in ("e", "dd", "new", "up", "never"):
            _native.fs_remove("s3://box/" + name)
        self.assertEqual(self.s.objects, {})

    def test_changed_while_read(self):
        self.s.objects["f"] = pattern(5 << 20)
        handler = self.s.RequestHandlerClass
        get = handler.on_GET

        def changing(h, key, query, cut):
            get(h, key, query, cut)
            h.server.objects["f"] = pattern(5 << 20)[::-1]

        handler.on_GET = changing
        try:
            self.fails("status 412 ... the file was changed while it was read", _native.fs_read, "s3://box/f")
        finally:
            handler.on_GET = get


class OnWebHDFS(Storage):
    def setUp(self):
        Storage.setUp(self)
        self.s = WebHDFS()
        os.environ.update({"SKIFF_WEBHDFS_ENDPOINT": self.s.url, "HADOOP_USER_NAME": "me"})

    def tearDown(self):
        self.s.end()
        Storage.tearDown(self)

    def test_listings_that_do_not_end(self):
        """A server that says for ever that entries remain; with the same names, with others, with none."""
        handler = self.s.RequestHandlerClass
        listing, asked = handler.op_LISTSTATUS_BATCH, []

        def page(names, left):
            def answer(h, path, query, cut):
                asked.append(query.get("startAfter"))
                h.say({"DirectoryListing": {"partialListing": {"FileStatuses": {"FileStatus": [
                    {"pathSuffix": n, "type": "FILE", "length": 1} for n in names(len(asked))]}}, "remainingEntries": left(len(asked))}})
            return answer

        three = lambda i: 3
        new = lambda i: ["f%08d" % i]
        try:
            for names, left, requests, words in (
                    (lambda i: ["a", "b"], three, 2, "says behind 4 names that there are more, at the same place again"),
                    (lambda i: ["a"] if i % 2 else ["b"], three, 101,
                     "says behind 101 names that there are more, and no fewer of them than 100 pages before"),
                    (new, three, 101, "says behind 101 names that there are more, and no fewer of them than 100 pages before"),
                    (lambda i: [], three, 1, "says behind 0 names that there are more, and gives none"),
                    (lambda i: new(i) if i < 3 else [], three, 3, "says behind 2 names that there are more, and gives none")):
                del asked[:]
                handler.op_LISTSTATUS_BATCH = page(names, left)
                self.fails("hdfs:/d: 127.0.0.1:%d %s: its listing is broken" % (self.s.server_port, words), _native.fs_list, "hdfs:/d")
                self.assertEqual(len(asked), requests)
            del asked[:]  # files that are added meanwhile
            handler.op_LISTSTATUS_BATCH = page(new, lambda i: 5 if i < 90 else 100 - i)
            self.assertEqual([e[0] for e in _native.fs_list("hdfs:/d")], ["hdfs:/d/f%08d" % (i + 1) for i in range(100)])
            self.assertEqual(asked[:3], [None, "f00000001", "f00000002"])
        finally:
            handler.op_LISTSTATUS_BATCH = listing

    def test_read_and_write(self):
        for path in ("hdfs://nn:8020/d/a b", "hdfs:/d/a b", "afs://x:1/d/a b",
                     "webhdfs://127.0.0.1:%d/d/a b" % self.s.server_port):
            self.s.files.clear()
            _native.fs_write(path, b"hello")
            self.assertEqual(self.s.files, {"/d/a b": b"hello"})
            _native.fs_write(path, b"again")
            self.assertEqual(_native.fs_read(path), b"again")
            self.assertEqual(_native.fs_look(path), (False, 5, 1767322000))
        self.assertEqual(_native.fs_kind("hdfs:/d"), ("webhdfs", True))
        self.assertIsNone(_native.fs_look("hdfs:/no"))
        self.fails("hdfs:/no: there is no such file or folder (GET at 127.0.0.1: ... status 404, FileNotFoundException: File "
                   "does not exist: /no)", _native.fs_read, "hdfs:/no")

    def test_listing_in_pages(self):
        self.s.folders |= {"/d", "/d/sub"}
        self.s.files.update({"/d/%s%d" % (c, i): b"x" * i for c in 'a"\\ü' for i in range(2)})
        names = sorted([c + str(i) for c in 'a"\\ü' for i in range(2)] + ["sub"], key=lambda n: n.encode())
        for self.s.batches in (True, False):
            self.assertEqual([e[0] for e in _native.fs_list("hdfs:/d")], ["hdfs:/d/" + n for n in names])
        self.assertEqual([e[0] for e in _native.fs_list("hdfs:/*/a*")], ["hdfs:/d/a0", "hdfs:/d/a1"])
        self.fails("hdfs:/d/a0: is a file, a folder was expected", _native.fs_list, "hdfs:/d/a0")

    def test_broken_connections(self):
        data = self.s.files["/f"] = pattern(9 << 20)
        self.s.faults = [Fault("GET", 500), Fault("GET", ("cut", 1000), having="data=true"), Fault("GET", "reset"),
                         Fault("GET", "stall", having="data=true"), Fault("GET", 503)]
        self.assertTrue(_native.fs_read("hdfs:/f") == data)
        self.s.faults = [Fault("PUT", "reset"), Fault("PUT", 503, having="data=true"), Fault("PUT", "reset", having="RENAME")]
        _native.fs_write("hdfs:/g", data)
        self.assertTrue(self.s.files["/g"] == data)
        self.assertEqual(sorted(self.s.files), ["/f", "/g"])

    def test_refusals_are_not_tried_again(self):
        os.environ["HADOOP_USER_NAME"] = "you"
        self.fails("hdfs:/g ... : PUT at 127.0.0.1: ... status 403: AccessControlException: Permission denied: user=you; check "
                   "the user (fs_ugi, HADOOP_USER_NAME)", _native.fs_write, "hdfs:/g", b"x")
        self.assertEqual(len([1 for m, p, r in self.s.seen if "CREATE" in p]), 1)

    def test_the_user(self):
        """HADOOP_USER_NAME, else USER, else the name of the uid."""
        own = pwd.getpwuid(os.geteuid()).pw_name
        for env, self.s.user in (({"HADOOP_USER_NAME": "a", "USER": "b"}, "a"), ({"USER": "b"}, "b"),
                                 ({"HADOOP_USER_NAME": "", "USER": ""}, own), ({}, own)):
            for name in ("HADOOP_USER_NAME", "USER"):
                os.environ.pop(name, None)
            os.environ.update(env)
            _native.fs_write("hdfs:/f", self.s.user.encode())
            self.assertEqual(self.s.files, {"/f": self.s.user.encode()})

    def test_the_active_namenode_is_found(self):
        other = WebHDFS()
        try:
            other.standby = True
            os.environ["SKIFF_WEBHDFS_ENDPOINT"] = other.url + "/," + self.s.url
            _native.fs_write("hdfs:/f", b"hello")
            self.assertEqual(_native.fs_read("hdfs:/f"), b"hello")
        finally:
            other.end()

    def test_changing(self):
        _native.fs_mkdirs("hdfs:/d/e")
        _native.fs_write("hdfs:/d/e/f", b"1")
        _native.fs_rename("hdfs:/d/e", "hdfs:/d/g")
        self.assertEqual(self.s.files, {"/d/g/f": b"1"})
        _native.fs_copy("hdfs:/d", self.at("got"))
        with open(self.at("got", "g", "f")) as f:
            self.assertEqual(f.read(), "1")
        _native.fs_remove("hdfs:/d")
        self.assertEqual((self.s.files, self.s.folders), ({}, {"/"}))

    def test_no_address(self):
        del os.environ["SKIFF_WEBHDFS_ENDPOINT"]
        self.fails("hdfs:/f: which namenode? write hdfs://host/path, or set SKIFF_WEBHDFS_ENDPOINT=http://host:9870",
                   _native.fs_read, "hdfs:/f")
        self.fails("afs:/f: AFS is reached by the hadoop command (set SKIFF_HADOOP_BIN", _native.fs_read, "afs:/f")

    def test_client(self):
        """HDFSClient without a hadoop command."""
        os.environ.pop("HADOOP_USER_NAME")
        client = HDFSClient(self.at("none"), {"fs.default.name": "hdfs://nn:54310", "hadoop.job.ugi": "me,secret"})
        client.mkdirs("/d/sub")
        client.touch("hdfs:/d/f")
        self.assertRaises(FSFileExistsError, client.touch, "/d/f", False)
        self.assertEqual(client.ls_dir("/d"), (["sub"], ["f"]))
        self.assertEqual((client.ls_dir("/no"), client.list_dirs("/d")), (([], []), ["sub"]))
        self.assertEqual([client.is_dir("/d"), client.is_file("/d"), client.is_file("/d/f"), client.is_exist("/z")],
                         [True, False, True, False])
        client.upload(self.write("text", b"one\ntwo\n"), "/d/sub")
        client.upload(self.at("text"), "/d/other")
        self.assertEqual(client.cat("hdfs://nn:54310/d/sub/text"), "one\ntwo")
        self.assertEqual((client.cat("/d/other"), client.cat("/no")), ("one\ntwo", ""))
        self.assertEqual(client.list_files_info(["/d/sub"]), [{"path": "hdfs:/d/sub/text", "size": 8}])
        client.download("/d", self.at("back"))
        self.assertEqual(sorted(os.listdir(self.at("back"))), ["f", "other", "sub"])
        client.upload_dir(self.at("back"), "/up")
        self.assertEqual(self.s.files["/up/back/sub/text"], b"one\ntwo\n")
        client.mv("/d/f", "/d/g")
        self.assertRaises(FSFileNotExistsError, client.mv, "/d/f", "/d/h")
        self.assertRaises(FSFileExistsError, client.mv, "/d/g", "/d/sub")
        client.mv("/d/g", "/d/other", overwrite=True)
        self.assertEqual(client.cat("/d/other"), "")
        client.delete("/d")
        client.delete("/d")
        self.assertFalse(client.is_exist("/d"))
        self.assertTrue(client.need_upload_download())
        self.s.user = "somebody"
        with self.assertRaisesRegex(ExecuteError, "hdfs:/d: GET at .* status 403: .*user=me"):
            client.is_exist("/d")


class OnHadoop(Storage):
    """The command over a folder of this machine (hadoop.sh)."""

    def setUp(self):
        Storage.setUp(self)
        os.makedirs(self.at("root"))
        hadoop = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hadoop.sh")
        os.environ.update({"SKIFF_TEST_HADOOP": self.at("root"),
                           "SKIFF_TEST_UGI": "fs -Dfs.default.name=afs://h:1 -Dhadoop.job.ugi=me,secret"})
        self.settings = ("afs://h:1", "me", "secret", hadoop, "")

    def calls(self):
        """What was called since the last question, without settings."""
        with open(self.at("root.calls")) as f:
            calls = [line.split(None, 3)[3].strip() for line in f]
        os.remove(self.at("root.calls"))
        return calls

    def test_all(self):
        s = self.settings
        self.assertEqual(_native.fs_kind("afs:/d", s), ("hadoop", True))
        _native.fs_mkdirs("afs:/d/sub", s)
        _native.fs_write("afs:/d/a b", b"hello", s)
        _native.fs_write("afs:/d/a b", b"again", s)
        self.assertEqual(_native.fs_read("afs:/d/a b", s), b"again")
        self.assertEqual([e[:3] for e in _native.fs_list("afs:/d", s)], [("afs:/d/a b", False, 5), ("afs:/d/sub", True, 0)])
        self.assertEqual(_native.fs_look("afs:/d/a b", s), (False, 5, 0))
        self.assertIsNone(_native.fs_look("afs:/none", s))
        _native.fs_copy(self.write("up", b"12"), "afs:/d/sub/up", s)
        _native.fs_copy("afs:/d", self.at("back"), s)
        with open(self.at("back", "sub", "up")) as f:
            self.assertEqual(f.read(), "12")
        _native.fs_write("afs:/d/new/deep/f", b"x", s)
        self.assertEqual(_native.fs_read("afs:/d/new/deep/f", s), b"x")
        _native.fs_rename("afs:/d", "afs:/e", s)
        self.assertEqual(os.listdir(self.at("root")), ["e"])
        _native.fs_remove("afs:/e", s)
        self.assertEqual(os.listdir(self.at("root")), [])

    def test_calls(self):
        """Every call is a Java machine that starts: a new file takes two, a look one."""
        s = self.settings
        os.mkdir(self.at("root/d"))
        _native.fs_write("afs:/d/f", b"hello", s)
        put, mv = self.calls()
        self.assertRegex(put, r"^-put .* afs:/d/f\._skiff_[0-9a-f]+$")
        self.assertRegex(mv, r"^-mv afs:/d/f\._skiff_[0-9a-f]+ afs:/d/f$")
        for path, want in (("afs:/d", (True, 0, 0)), ("afs:/d/f", (False, 5, 0)), ("afs:/none", None)):
            self.assertEqual(_native.fs_look(path, s), want)
            self.assertEqual(self.calls(), ["-ls " + path])

    def test_a_folder_whose_file_has_its_name(self):
        os.makedirs(self.at("root/a/a"))
        self.write("root/a/a/a", b"12")
        for path in ("afs:/a", "afs:/a/a", "afs://h:1/a/a"):
            self.assertEqual(_native.fs_look(path, self.settings), (True, 0, 0))
        self.assertEqual([e[0] for e in _native.fs_list("afs:/a/a", self.settings)], ["afs:/a/a/a"])
        self.assertEqual(_native.fs_look("afs:/a/a/a", self.settings), (False, 2, 0))

    def removal(self, names, gone):
        """A commit that lists these names is settled; `gone` are not there."""
        os.environ.update({"SKIFF_HADOOP_BIN": self.settings[3], "SKIFF_TEST_UGI": ""})
        os.makedirs(self.at("root/m"), exist_ok=True)
        for name in set(names) - set(gone):
            self.write("root/m/" + name, b"1")
        self.write("root/m/.skiff-commit-1-0", "".join(name + "\n" for name in names).encode())
        _native.saved_parts("afs:/m")

    def test_missing_among_many(self):
        names = ["f%02d" % i for i in range(40)]
        self.removal(names, ["f03", "f04"])  # of the first batch of 32
        self.assertEqual(os.listdir(self.at("root/m")), [])

    def test_missing_does_not_hide_what_is_denied(self):
        names = ["f%02d" % i for i in range(20)]
        os.environ["SKIFF_TEST_DENIED"] = "rm /m/f01"
        with self.assertRaisesRegex(Exception, "afs:/m/f00: hadoop fs -rm ended with status 1: rm: Permission denied: user=me"):
            self.removal(names, ["f00"] + names[2:])
        self.assertEqual(sorted(os.listdir(self.at("root/m"))), [".skiff-commit-1-0", "f01"])
        del os.environ["SKIFF_TEST_DENIED"]
        self.removal(names, names)
        self.assertEqual(os.listdir(self.at("root/m")), [])

    def test_a_command_that_cannot_run(self):
        """What it says is told; that a file of its own is missing does not mean that ours is."""
        for text, words in (
                ("echo 'ERROR: JAVA_HOME is not set and could not be found.' >&2; exit 1",
                 "afs:/d: hadoop fs -ls ended with status 1: ERROR: JAVA_HOME is not set and could not be found."),
                ("exec /none/bin/java -cp x", "-ls ended with status 12 ... /none/bin/java ... the hadoop command cannot run here"),
                ("ls /none/lib; exit 1", "afs:/d: hadoop fs -ls ended with status 1: ls: cannot access '/none/lib': No such file"),
                ("printf 'Exception in thread main java.lang.X: gone\\n\\tat a.b.c(d.java:1)\\n' >&2; exit 1",
                 "-ls ended with status 1: Exception in thread main java.lang.X: gone")):
            path = self.write("broken", b"#!/bin/bash\n" + text.encode() + b"\n")
            os.chmod(path, 0o755)
            self.fails(words, _native.fs_look, "afs:/d", self.settings[:3] + (path, ""))

    def test_failures(self):
        self.fails("afs:/none: there is no such file or folder ( ... cat: `afs:/none': No such file or directory)", _native.fs_read,
                   "afs:/none", self.settings)
        wrong = self.settings[:3] + (self.at("nothing"), "")
        self.fails("afs:/none: there is no command %s; set SKIFF_HADOOP_BIN" % self.at("nothing"), _native.fs_read, "afs:/none",
                   wrong)
        self.fails("afs:/x: hadoop fs -ls ended with status 9: (no error output)", _native.fs_look, "afs:/x",
                   ("afs://other:1",) + self.settings[1:])
        slow = self.write("hadoop", b"#!/bin/sh\nsleep 30\n")
        os.chmod(slow, 0o755)
        with self.assertRaisesRegex(TimeoutError, "afs:/x: the command gives nothing for 1 s; it was ended"):
            _native.fs_read("afs:/x", self.settings[:3] + (slow, ""))


class Datasets(WithS3):
    """Datasets of remote files."""

    def load(self, files, pipe="cat", **more):
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            ids = paddle.static.data("ids", [None, 1], "int64", lod_level=1)
            data = paddle.distributed.InMemoryDataset()
            data.init(batch_size=2, thread_num=2, pipe_command=pipe, use_var=[ids], **more)
            data.set_filelist(files)
            data.load_into_memory()
            return data.get_memory_data_size()

    def test_files_folders_patterns(self):
        self.s.objects.update({"d/a": b"1 7\n" * 10, "d/b.gz": gzip.compress(b"2 7 8\n" * 20), "d/sub/c": b"1 1\n" * 40,
                               "d/_SUCCESS": b"", "d/x~": b"wrong"})
        for files, want in ((["s3://box/d/a"], 10), (["s3://box/d/b.gz", "s3://box/d/a"], 30), (["s3://box/d"], 70),
                            (["s3://box/d/[ab]*"], 30), (["s3://box/*/sub/c"], 40)):
            self.assertEqual(self.load(files), want, files)
        self.assertEqual(self.load(["s3://box/d"], "sed p"), 140)
        self.fails("s3://box/d/none*: no file matches", self.load, ["s3://box/d/none*"])
        self.fails("s3://box/none: there is no such file or folder", self.load, ["s3://box/none"])
        self.s.objects["bad"] = b"1 7\nrubbish\n"
        self.fails("s3://box/bad:2: ", self.load, ["s3://box/bad"])

    def test_fs_name(self):
        hdfs = WebHDFS()
        try:
            hdfs.user = "joe"
            hdfs.folders.add("/t")
            hdfs.files.update({"/t/a": b"1 7\n" * 10, "/t/b": gzip.compress(b"2 7 8\n" * 20)})
            hdfs.faults = [Fault("GET", 500), Fault("GET", ("cut", 3), having="data=true")]
            self.assertEqual(self.load(["afs:/t"], fs_name=hdfs.url, fs_ugi="joe,secret"), 30)
        finally:
            _native.fs_configure("hdfs", "", "")
            hdfs.end()


if __name__ == "__main__":
    paddle.enable_static()
    unittest.main()
