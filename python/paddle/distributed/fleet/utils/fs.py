"""Files of this machine (LocalFS), and of HDFS and AFS (HDFSClient)."""
import os
import shutil
import subprocess
import time

from skiff import _native

from paddle import _names


class ExecuteError(Exception):
    """A command of hadoop failed."""


class FSFileExistsError(Exception):
    """The target is there already."""


class FSFileNotExistsError(Exception):
    """There is no such file."""


class FSTimeOut(Exception):
    """It went on failing until the time was over."""


class FSShellCmdAborted(ExecuteError):
    """The command was aborted."""


class FS(object):
    """What a file system does."""


for _call in ("ls_dir is_file is_dir is_exist upload download mkdirs delete need_upload_download rename mv upload_dir "
              "list_dirs touch cat").split():
    def _missing(self, *args, _call=_call, **kwargs):
        raise NotImplementedError("%s has no %s" % (type(self).__name__, _call))

    setattr(FS, _call, _missing)


class LocalFS(FS):
    """Files of this machine."""

    def ls_dir(self, fs_path):
        """(folders, files) in it; both empty when it is not there."""
        names = os.listdir(fs_path) if self.is_exist(fs_path) else []
        folders = [name for name in names if os.path.isdir(os.path.join(fs_path, name))]
        return folders, [name for name in names if name not in folders]

    def list_dirs(self, fs_path):
        return self.ls_dir(fs_path)[0]

    def mkdirs(self, fs_path):
        if os.path.isfile(fs_path):
            raise AssertionError("%s is already a file" % fs_path)
        os.makedirs(fs_path, exist_ok=True)

    def rename(self, fs_src_path, fs_dst_path):
        os.rename(fs_src_path, fs_dst_path)

    def delete(self, fs_path):
        """The file, or the folder with all that is in it; nothing when it is not there."""
        if os.path.isdir(fs_path) and not os.path.islink(fs_path):
            shutil.rmtree(fs_path)
        elif os.path.lexists(fs_path):
            os.remove(fs_path)

    def need_upload_download(self):
        return False

    def is_file(self, fs_path):
        return os.path.isfile(fs_path)

    def is_dir(self, fs_path):
        return os.path.isdir(fs_path)

    def is_exist(self, fs_path):
        return os.path.exists(fs_path)

    def touch(self, fs_path, exist_ok=True):
        """An empty file, if there is none."""
        if self.is_exist(fs_path):
            if exist_ok:
                return
            raise FSFileExistsError("%s already exists" % fs_path)
        with open(fs_path, "a"):
            pass

    def mv(self, src_path, dst_path, overwrite=False, test_exists=False):
        if not self.is_exist(src_path):
            raise FSFileNotExistsError("%s is not there" % src_path)
        if overwrite and self.is_exist(dst_path):
            self.delete(dst_path)
        if self.is_exist(dst_path):
            raise FSFileExistsError("%s already exists" % dst_path)
        return self.rename(src_path, dst_path)

    def cat(self, fs_path=None):
        """The text of a file; empty when it is none."""
        if not fs_path or not self.is_file(fs_path):
            return ""
        with open(fs_path) as source:
            return source.read().rstrip("\n")


class _Command(object):
    """`hadoop fs -Dkey=value ... -command`; a command that fails is tried again for time_out ms."""

    def __init__(self, words, time_out, sleep_inter):
        self.words, self._time_out, self._sleep_inter = words, time_out, sleep_inter

    def once(self, *words):
        """(exit status, lines); nothing is expanded by a shell."""
        try:
            done = subprocess.run(self.words + ["-" + words[0]] + list(words[1:]), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, universal_newlines=True)
        except OSError as error:
            raise FSFileNotExistsError("HDFSClient: cannot run %s: %s; docs/guide/storage.md describes how to do without it" %
                                       (self.words[0], error.strerror))
        if done.returncode == 134:
            raise FSShellCmdAborted(" ".join(words))
        self._last_error = done.stderr.strip().splitlines()[-1:]
        return done.returncode, done.stdout.splitlines()

    def run(self, *words):
        """The lines; tried again until the time is over."""
        end = time.time() + self._time_out / 1000.0
        while True:
            status, lines = self.once(*words)
            if status == 0:
                return lines
            if time.time() >= end:
                raise FSTimeOut("hadoop fs -%s: status %d: %s" % (" ".join(words), status, " ".join(self._last_error)))
            time.sleep(self._sleep_inter / 1000.0)

    def exists(self, path):
        return self.once("test", "-e", path)[0] == 0

    def is_dir(self, path):
        return self.once("test", "-d", path)[0] == 0

    def entries(self, *paths):
        """[(path, is it a folder, bytes)]"""
        out = []
        for line in self.run("ls", *paths):
            words = line.split(None, 7)
            if len(words) == 8:
                out.append((words[7], words[0].startswith("d"), int(words[4])))
        return out

    def mkdirs(self, path):
        self.run("mkdir", "-p", path)

    def remove(self, path):
        self.run("rm", "-r", path) if self.is_dir(path) else self.run("rm", path)

    def touch(self, path):
        self.run("touchz", path)

    def rename(self, old, new):
        self.run("mv", old, new)

    def put(self, local, path):
        self.run("put", local, path)

    def get(self, path, local):
        self.run("get", path, local)

    def text(self, path):
        return "\n".join(self.run("cat", path))


class _WebHDFS(object):
    """The same without a hadoop command, by the native module; what may pass is tried again there."""

    def __init__(self, configs):
        ugi = configs.get("hadoop.job.ugi", "").split(",", 1)
        self._uri = configs.get("fs.default.name") or configs.get("fs.defaultFS") or ""
        self._settings = (self._uri, ugi[0], ugi[1] if len(ugi) > 1 else "", "", "")

    def _call(self, name, path, *more):
        s3 = any(str(word).startswith("s3") and "://" in str(word) for word in (path,) + more)
        try:
            return getattr(_native, "fs_" + name)(path, *more, None if s3 else self._settings)
        except TimeoutError as error:
            raise FSTimeOut(str(error))
        except FileNotFoundError as error:
            raise FSFileNotExistsError(str(error))
        except OSError as error:
            raise ExecuteError(str(error))

    def _whole(self, path):
        """A path without scheme lies on fs.default.name; one without host is the same to C."""
        path = path.rstrip("/") or "/"
        return path if ":/" in path else "hdfs:" + (path if path.startswith("/") else "/user/%s/%s" % (self._settings[1], path))

    def exists(self, path):
        return self._call("look", self._whole(path)) is not None

    def is_dir(self, path):
        found = self._call("look", self._whole(path))
        return found is not None and found[0]

    def entries(self, *paths):
        out = []
        for path in paths:
            whole = self._whole(path)
            if self.is_dir(path):
                out += [entry[:3] for entry in self._call("list", whole)]
            else:
                out.append((path, False, self._call("look", whole)[1]))
        return out

    def mkdirs(self, path):
        self._call("mkdirs", self._whole(path))

    def remove(self, path):
        self._call("remove", self._whole(path))

    def touch(self, path):
        self._call("write", self._whole(path), b"")

    def rename(self, old, new):
        self._call("rename", self._whole(old), self._whole(new))

    def put(self, local, path):
        """Into a folder that is there, else under that name, as hadoop does."""
        whole = self._whole(path)
        if self.is_dir(path):
            whole += "/" + os.path.basename(local.rstrip("/"))
        self._call("copy", local, whole)

    def get(self, path, local):
        if os.path.isdir(local):
            local = os.path.join(local, os.path.basename(path.rstrip("/")))
        self._call("copy", self._whole(path), local)

    def text(self, path):
        return self._call("read", self._whole(path)).decode().rstrip("\n")


class HDFSClient(FS):
    """HDFS and AFS by `HADOOP_HOME/bin/hadoop`; where that is not, by WebHDFS (docs/guide/storage.md)."""

    def __init__(self, hadoop_home, configs, time_out=5 * 60 * 1000, sleep_inter=1000):
        configs = dict(configs or {})
        command = os.path.expandvars("%s/bin/hadoop" % hadoop_home)
        self.pre_commands = [command, "fs"] + ["-D%s=%s" % item for item in configs.items()]
        self._base_cmd = " ".join(self.pre_commands)
        self._time_out, self._sleep_inter = time_out, sleep_inter
        named = os.environ.get("SKIFF_WEBHDFS_ENDPOINT") or configs.get("fs.default.name") or configs.get("fs.defaultFS")
        if named and not os.path.exists(command):
            self._how = _WebHDFS(configs)
        else:
            self._how = _Command(self.pre_commands, time_out, sleep_inter)

    def is_exist(self, fs_path):
        return self._how.exists(fs_path)

    def is_dir(self, fs_path):
        return self._how.is_dir(fs_path)

    def is_file(self, fs_path):
        return self.is_exist(fs_path) and not self.is_dir(fs_path)

    def ls_dir(self, fs_path):
        """(folders, files) in it; both empty when it is not there."""
        folders, files = [], []
        for path, folder, size in self._how.entries(fs_path) if self.is_exist(fs_path) else []:
            (folders if folder else files).append(os.path.basename(path))
        return folders, files

    def list_dirs(self, fs_path):
        return self.ls_dir(fs_path)[0]

    def list_files_info(self, path_list):
        """[{"path": ..., "size": bytes}]"""
        return [{"path": path, "size": size} for path, folder, size in self._how.entries(*path_list)] if path_list else []

    def mkdirs(self, fs_path):
        if not self.is_exist(fs_path):
            self._how.mkdirs(fs_path)

    def delete(self, fs_path):
        if self.is_exist(fs_path):
            self._how.remove(fs_path)

    def touch(self, fs_path, exist_ok=True):
        if self.is_exist(fs_path):
            if exist_ok:
                return
            raise FSFileExistsError("%s already exists" % fs_path)
        self._how.touch(fs_path)

    def mv(self, fs_src_path, fs_dst_path, overwrite=False, test_exists=True):
        if overwrite:
            self.delete(fs_dst_path)
        if test_exists and not self.is_exist(fs_src_path):
            raise FSFileNotExistsError("%s is not exists" % fs_src_path)
        if test_exists and self.is_exist(fs_dst_path):
            raise FSFileExistsError("%s exists already" % fs_dst_path)
        self._how.rename(fs_src_path, fs_dst_path)

    def upload(self, local_path, fs_path, multi_processes=5, overwrite=False):
        """A file, or what a folder holds."""
        if not os.path.exists(local_path):
            raise FSFileNotExistsError("%s not exists" % local_path)
        if overwrite and self.is_exist(fs_path):
            self.delete(fs_path)
            self.mkdirs(fs_path)
        names = [os.path.join(local_path, name) for name in os.listdir(local_path)] if os.path.isdir(local_path) else [local_path]
        for name in sorted(names):
            self._how.put(name, fs_path)

    def upload_dir(self, local_dir, dest_dir, overwrite=False):
        """A folder, into another."""
        local_dir, dest_dir = local_dir.rstrip("/"), dest_dir.rstrip("/")
        if overwrite:
            self.delete(dest_dir + "/" + os.path.basename(local_dir))
        self.mkdirs(dest_dir)
        self._how.put(local_dir, dest_dir)

    def download(self, fs_path, local_path, multi_processes=5, overwrite=False):
        """A file, or what a folder holds."""
        if not self.is_exist(fs_path):
            raise FSFileNotExistsError("%s not exits" % fs_path)
        if overwrite:
            LocalFS().delete(local_path)
        if not self.is_dir(fs_path):
            self._how.get(fs_path, local_path)
            return
        os.makedirs(local_path, exist_ok=True)
        folders, files = self.ls_dir(fs_path)
        for name in files + folders:
            self._how.get(fs_path + "/" + name, local_path)

    def cat(self, fs_path=None):
        """The text of a file; empty when it is none."""
        return self._how.text(fs_path) if fs_path and self.is_file(fs_path) else ""

    def need_upload_download(self):
        return True


__getattr__ = _names.guard(__name__)
