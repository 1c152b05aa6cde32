"""Connections between the processes of a job that call each other: authenticated, then messages with a code each.

A message holds a pickle, which can run anything: none is read before both sides have proved that they hold the job's secret, and
each carries a code (HMAC-SHA256) of its content, its number and its direction. Contents are not encrypted.
    client -> server   32 random bytes
    server -> client   32 random bytes
    client -> server   code of "client" by the connection's key = HMAC(secret, both random values)
    server -> client   code of "server", only after the client's was right
"""
import hashlib
import hmac
import os
import pickle
import socket
import stat
import struct
import tempfile
import threading
import time

_HELLO_SECONDS = 5.0
_MOST_UNKNOWN = 64  # connections that have not proved anything yet
_LARGEST = 1 << 40


class LinkError(ConnectionError):
    """The other side is not there, or is not of this job."""


# ---- the secret ----


def _of_file(path):
    found = os.stat(path)
    if found.st_uid != os.getuid() or found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise PermissionError("%s: the secret's file must belong to you and be readable by you alone (chmod 600)" % path)
    with open(path, "rb") as file:
        return file.read().strip()


def _of_machine(port, makes):
    """A secret for processes of this user on this machine: the first one of the job makes it, in a folder of its own."""
    folder = os.path.join(tempfile.gettempdir(), "skiff-rpc-%d" % os.getuid())
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError("%s: expected a folder of this user that no other user can read; remove it, or set SKIFF_SECRET" % folder)
    path = os.path.join(folder, "%d.secret" % port)
    if makes:
        made = "%s.%d" % (path, os.getpid())
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(os.urandom(32).hex().encode())
        os.replace(made, path)
    return path


def is_local(host):
    """Whether an address is of this machine alone."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise LinkError("cannot find the address of %s: %s" % (host, error)) from None
    return all(entry[4][0].startswith("127.") or entry[4][0] == "::1" for entry in found)


class Secret(object):
    """The job's secret: SKIFF_SECRET, SKIFF_SECRET_FILE, or on one machine a file of this user's."""

    def __init__(self, host, port, first):
        self._file, self._own = None, False
        given, file = os.environ.get("SKIFF_SECRET"), os.environ.get("SKIFF_SECRET_FILE")
        if given:
            self._value = given.encode()
        elif file:
            self._value = _of_file(file)
        elif is_local(host):
            self._file, self._own, self._value = _of_machine(port, first), first, None
        else:
            raise PermissionError("init_rpc: other machines can reach %s:%d, and a caller can run any code in "
                                  "it: give all processes of the job one secret (SKIFF_SECRET_FILE; skiff secret new --out FILE)" %
                                  (host, port))

    def value(self):
        """Of a file that the first process makes: as it is now."""
        return self._value if self._value is not None else _of_file(self._file)

    def remove(self):
        if self._own and os.path.exists(self._file):
            os.remove(self._file)


# ---- a connection ----


def _code(key, *parts):
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


class Link(object):
    """Messages over a socket whose other side holds the secret."""

    def __init__(self, sock, secret, is_server):
        self._socket, self._sent, self._received, self._lock = sock, 0, 0, threading.Lock()
        self._ways = (b"S", b"C") if is_server else (b"C", b"S")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(_HELLO_SECONDS)
        mine = os.urandom(32)
        sock.sendall(mine)
        theirs = self._read(32)
        values = (theirs, mine) if is_server else (mine, theirs)
        self._key = _code(secret, b"skiff rpc 1", os.environ.get("SKIFF_JOB", "").encode(), *values)
        if not is_server:
            sock.sendall(_code(self._key, b"client"))
        if not hmac.compare_digest(self._read(32), _code(self._key, b"client" if is_server else b"server")):
            raise LinkError("the other side holds another secret, or is of another job")
        if is_server:
            sock.sendall(_code(self._key, b"server"))
        sock.settimeout(None)

    def _read(self, count):
        parts = []
        while count:
            part = self._socket.recv(min(count, 1 << 20))
            if not part:
                raise LinkError("the connection was closed")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def send(self, message):
        """One complete message."""
        self.send_bytes(pickle.dumps(message, protocol=4))

    def send_bytes(self, content):
        with self._lock:
            number = struct.pack("<Q", self._sent)
            self._sent += 1
            head = struct.pack("<Q", len(content))
            self._socket.sendall(head + _code(self._key, self._ways[0], number, head, content))
            self._socket.sendall(content)

    def receive(self, timeout=None):
        """The next message; TimeoutError when it has not come in time."""
        self._socket.settimeout(timeout)
        head = self._read(8)
        code, (size,) = self._read(32), struct.unpack("<Q", head)
        if size > _LARGEST:
            raise LinkError("a message of %d bytes: not one of ours" % size)
        content = self._read(size)
        number = struct.pack("<Q", self._received)
        self._received += 1
        if not hmac.compare_digest(code, _code(self._key, self._ways[1], number, head, content)):
            raise LinkError("a message was changed on its way")
        return pickle.loads(content)

    def close(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()


def connect(host, port, secret, seconds):
    """A Link to a process that may not listen yet."""
    end, why = time.monotonic() + seconds, None
    while True:
        sock = None
        try:
            sock = socket.create_connection((host, port), timeout=_HELLO_SECONDS)
            return Link(sock, secret.value(), False)
        except (OSError, LinkError) as error:
            why = error
            if sock is not None:
                sock.close()
        if time.monotonic() > end:
            raise LinkError("no process of this job answers at %s:%d: %s" % (host, port, why))
        time.sleep(0.05)


class Listener(object):
    """Takes connections of the job's processes: serve(link) for each, in a thread."""

    def __init__(self, host, port, secret, serve):
        self._secret, self._serve, self._unknown = secret, serve, threading.Semaphore(_MOST_UNKNOWN)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            raise LinkError("cannot listen at %s:%d: %s" % (host, port, error)) from None
        self._socket.listen(128)
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, name="rpc-accept", daemon=True).start()

    def _accept(self):
        while True:
            self._unknown.acquire()
            try:
                sock, _ = self._socket.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._greet, args=(sock,), name="rpc-serve", daemon=True).start()

    def _greet(self, sock):
        link = None
        try:
            link = Link(sock, self._secret.value(), True)
        except (OSError, LinkError):
            sock.close()
        finally:
            self._unknown.release()
        if link is not None:
            try:
                self._serve(link)
            except (OSError, LinkError, EOFError):
                pass
            finally:
                link.close()

    def close(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
