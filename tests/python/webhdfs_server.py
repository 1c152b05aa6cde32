"""A small WebHDFS for tests: a namenode that redirects to a datanode, listings in pages, faults on demand."""
import json
import posixpath
import sys
import urllib.parse

from s3_server import Handler, Server, serve


class Node(Handler):
    def refuse(self, status, code, message):
        self.answer(status, json.dumps({"RemoteException": {"exception": code, "message": message}},
                                       separators=(",", ":")).encode())

    def run(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.command, self.path, None))
        cut = self.fault()
        if cut == "done":
            return
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        if not url.path.startswith("/webhdfs/v1/") and url.path != "/webhdfs/v1":
            return self.refuse(404, "NotFound", "no " + url.path)
        path = urllib.parse.unquote(url.path[len("/webhdfs/v1"):]).rstrip("/") or "/"
        if self.server.standby:
            return self.refuse(403, "StandbyException", "Operation category READ is not supported in state standby")
        if query.get("user.name") != self.server.user:
            return self.refuse(403, "AccessControlException", "Permission denied: user=%s" % query.get("user.name"))
        with self.server.lock:
            getattr(self, "op_" + query["op"], self.unknown)(path, query, cut)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = run

    def unknown(self, path, query, cut):
        self.refuse(400, "IllegalArgumentException", "Invalid value for webhdfs parameter \"op\"")

    def status_of(self, path, name):
        body = self.server.files.get(path)
        return {"pathSuffix": name, "type": "DIRECTORY" if body is None else "FILE", "length": len(body or b""),
                "modificationTime": 1767322000123, "owner": "me"}

    def there(self, path):
        if path in self.server.files or path in self.server.folders:
            return True
        self.refuse(404, "FileNotFoundException", "File does not exist: " + path)
        return False

    def say(self, value):
        self.answer(200, json.dumps(value, separators=(",", ":")).encode())

    def redirect(self, path):
        """To itself, as the datanode."""
        if "data=true" in self.path:
            return False
        self.answer(307, b"", [("Location", self.server.url + self.path + "&data=true")])
        return True

    def op_GETFILESTATUS(self, path, query, cut):
        if self.there(path):
            self.say({"FileStatus": self.status_of(path, "")})

    def names(self, path):
        inside = [p for p in list(self.server.files) + list(self.server.folders) if p != "/" and posixpath.dirname(p) == path]
        return sorted(posixpath.basename(p) for p in inside)

    def op_LISTSTATUS(self, path, query, cut):
        if self.there(path):
            names = [""] if path in self.server.files else self.names(path)
            self.say({"FileStatuses": {"FileStatus": [self.status_of(posixpath.join(path, n) if n else path, n) for n in names]}})

    def op_LISTSTATUS_BATCH(self, path, query, cut):
        if not self.server.batches:
            return self.unknown(path, query, cut)
        if not self.there(path):
            return
        names = [""] if path in self.server.files else [n for n in self.names(path) if n > query.get("startAfter", "")]
        page = [self.status_of(posixpath.join(path, n) if n else path, n) for n in names[:self.server.page]]
        self.say({"DirectoryListing": {"partialListing": {"FileStatuses": {"FileStatus": page}},
                                       "remainingEntries": max(0, len(names) - self.server.page)}})

    def op_OPEN(self, path, query, cut):
        if not self.there(path) or self.redirect(path):
            return
        first = int(query.get("offset", 0))
        self.answer(200, self.server.files[path][first:first + int(query.get("length", 1 << 40))], cut=cut)

    def op_CREATE(self, path, query, cut):
        if self.redirect(path):
            return
        self.add_folder(posixpath.dirname(path))
        self.server.files[path] = self.body
        self.answer(201)

    def add_folder(self, path):
        while path not in self.server.folders:
            self.server.folders.add(path)
            path = posixpath.dirname(path)

    def op_MKDIRS(self, path, query, cut):
        self.add_folder(path)
        self.say({"boolean": True})

    def op_RENAME(self, path, query, cut):
        to = query["destination"]
        if not self.there(path):
            return
        if to in self.server.files and "renameoptions" not in query:
            return self.say({"boolean": False})
        for held in (self.server.files,):
            for old in [p for p in held if p == path or p.startswith(path + "/")]:
                held[to + old[len(path):]] = held.pop(old)
        for old in [p for p in self.server.folders if p == path or p.startswith(path + "/")]:
            self.server.folders.remove(old)
            self.server.folders.add(to + old[len(path):])
        self.answer(200) if "renameoptions" in query else self.say({"boolean": True})

    def op_DELETE(self, path, query, cut):
        for old in [p for p in self.server.files if p == path or p.startswith(path + "/")]:
            del self.server.files[old]
        self.server.folders -= {p for p in self.server.folders if p == path or p.startswith(path + "/")}
        self.say({"boolean": True})


class WebHDFS(Server):
    user, page, batches, standby = "me", 2, True, False

    def __init__(self):
        self.files, self.folders = {}, {"/"}
        Server.__init__(self, Node)


if __name__ == "__main__":
    # webhdfs_server.py FOLDER: an empty one, for a user "me"
    hdfs = WebHDFS()
    hdfs.page = 1000
    serve(hdfs, hdfs.files, sys.argv[1])
