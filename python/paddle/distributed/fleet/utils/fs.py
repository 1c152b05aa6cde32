"""Files of this machine (LocalFS), and of HDFS through the hadoop command (HDFSClient)."""
import os
import shutil
import subprocess
import time

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
            raise FSFileExistsError("%s is there already" % fs_path)
        with open(fs_path, "a"):
            pass

    def mv(self, src_path, dst_path, overwrite=False, test_exists=False):
        if not self.is_exist(src_path):
            raise FSFileNotExistsError("%s is not there" % src_path)
        if overwrite and self.is_exist(dst_path):
            self.delete(dst_path)
        if self.is_exist(dst_path):
            raise FSFileExistsError("%s is there already" % dst_path)
        return self.rename(src_path, dst_path)

    def cat(self, fs_path=None):
        """The text of a file; empty when it is none."""
        if not fs_path or not self.is_file(fs_path):
            return ""
        with open(fs_path) as source:
            return source.read().rstrip("\n")


class HDFSClient(FS):
    """`HADOOP_HOME/bin/hadoop fs -Dkey=value ... -command`; a command that fails is tried again for time_out ms."""

    def __init__(self, hadoop_home, configs, time_out=5 * 60 * 1000, sleep_inter=1000):
        self.pre_commands = [os.path.expandvars("%s/bin/hadoop" % hadoop_home), "fs"]
        self.pre_commands += ["-D%s=%s" % item for item in (configs or {}).items()]
        self._base_cmd = " ".join(self.pre_commands)
        self._time_out, self._sleep_inter = time_out, sleep_inter

    def _once(self, *words):
        """(exit status, lines); nothing is expanded by a shell."""
        try:
            done = subprocess.run(self.pre_commands + ["-" + words[0]] + list(words[1:]), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, universal_newlines=True)
        except OSError as error:
            raise FSFileNotExistsError("HDFSClient: cannot run %s: %s" % (self.pre_commands[0], error.strerror))
        if done.returncode == 134:
            raise FSShellCmdAborted(" ".join(words))
        self._last_error = done.stderr.strip().splitlines()[-1:]
        return done.returncode, done.stdout.splitlines()

    def _run(self, *words):
        """The lines; tried again until the time is over."""
        end = time.time() + self._time_out / 1000.0
        while True:
            status, lines = self._once(*words)
            if status == 0:
                return lines
            if time.time() >= end:
                raise FSTimeOut("hadoop fs -%s: status %d: %s" % (" ".join(words), status, " ".join(self._last_error)))
            time.sleep(self._sleep_inter / 1000.0)

    def is_exist(self, fs_path):
        return self._once("test", "-e", fs_path)[0] == 0

    def is_dir(self, fs_path):
        return self._once("test", "-d", fs_path)[0] == 0

    def is_file(self, fs_path):
        return self.is_exist(fs_path) and not self.is_dir(fs_path)

    def ls_dir(self, fs_path):
        """(folders, files) in it; both empty when it is not there."""
        folders, files = [], []
        for line in self._run("ls", fs_path) if self.is_exist(fs_path) else []:
            words = line.split(None, 7)
            if len(words) == 8:
                (folders if words[0].startswith("d") else files).append(os.path.basename(words[7]))
        return folders, files

    def list_dirs(self, fs_path):
        return self.ls_dir(fs_path)[0]

    def list_files_info(self, path_list):
        """[{"path": ..., "size": bytes}]"""
        out = []
        for line in self._run("ls", *path_list) if path_list else []:
            words = line.split(None, 7)
            if len(words) == 8:
                out.append({"path": words[7], "size": int(words[4])})
        return out

    def mkdirs(self, fs_path):
        if not self.is_exist(fs_path):
            self._run("mkdir", "-p", fs_path)

    def delete(self, fs_path):
        if self.is_exist(fs_path):
            self._run("rm", "-r", fs_path) if self.is_dir(fs_path) else self._run("rm", fs_path)

    def touch(self, fs_path, exist_ok=True):
        if self.is_exist(fs_path):
            if exist_ok:
                return
            raise FSFileExistsError("%s is there already" % fs_path)
        self._run("touchz", fs_path)

    def mv(self, fs_src_path, fs_dst_path, overwrite=False, test_exists=True):
        if overwrite:
            self.delete(fs_dst_path)
        if test_exists and not self.is_exist(fs_src_path):
            raise FSFileNotExistsError("%s is not exists" % fs_src_path)
        if test_exists and self.is_exist(fs_dst_path):
            raise FSFileExistsError("%s exists already" % fs_dst_path)
        self._run("mv", fs_src_path, fs_dst_path)

    def upload(self, local_path, fs_path, multi_processes=5, overwrite=False):
        """A file, or what a folder holds."""
        if not os.path.exists(local_path):
            raise FSFileNotExistsError("%s not exists" % local_path)
        if overwrite and self.is_exist(fs_path):
            self.delete(fs_path)
            self.mkdirs(fs_path)
        names = [os.path.join(local_path, name) for name in os.listdir(local_path)] if os.path.isdir(local_path) else [local_path]
        for name in sorted(names):
            self._run("put", name, fs_path)

    def upload_dir(self, local_dir, dest_dir, overwrite=False):
        """A folder, into another."""
        local_dir, dest_dir = local_dir.rstrip("/"), dest_dir.rstrip("/")
        if overwrite:
            self.delete(dest_dir + "/" + os.path.basename(local_dir))
        self.mkdirs(dest_dir)
        self._run("put", local_dir, dest_dir)

    def download(self, fs_path, local_path, multi_processes=5, overwrite=False):
        """A file, or what a folder holds."""
        if not self.is_exist(fs_path):
            raise FSFileNotExistsError("%s not exits" % fs_path)
        if overwrite:
            LocalFS().delete(local_path)
        if not self.is_dir(fs_path):
            self._run("get", fs_path, local_path)
            return
        os.makedirs(local_path, exist_ok=True)
        folders, files = self.ls_dir(fs_path)
        for name in files + folders:
            self._run("get", fs_path + "/" + name, local_path)

    def cat(self, fs_path=None):
        """The text of a file; empty when it is none."""
        return "\n".join(self._run("cat", fs_path)) if fs_path and self.is_file(fs_path) else ""

    def need_upload_download(self):
        return True


__getattr__ = _names.guard(__name__)
