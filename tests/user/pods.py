#!/usr/bin/env python3
"""pods.py MANIFEST DATA SECRET_FILE: plays Kubernetes on this machine. Starts what the Jobs of the manifest would start, with the
environment and the volume that they name, waits, and ends with status 1 when one failed or the manifest does not hold together.

Pods get loopback addresses in place of their names, and DATA in place of the claim's folder."""
import atexit
import os
import re
import signal
import socket
import subprocess
import sys

import yaml

INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


def fail(text):
    sys.exit("FAILED: " + text)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def need(things, kind, name):
    if (kind, name) not in things:
        fail("%s %s is used and not there" % (kind, name))
    return things[kind, name]


def environment(things, container, index, secret):
    env = {}
    for source in container["envFrom"]:
        env.update(need(things, "ConfigMap", source["configMapRef"]["name"])["data"])
    for row in container["env"]:
        origin = row.get("valueFrom", {})
        if "fieldRef" in origin and origin["fieldRef"]["fieldPath"] != INDEX:
            fail("an unknown field: %s" % origin)
        env[row["name"]] = str(index) if "fieldRef" in origin else secret if "secretKeyRef" in origin else row["value"]
    if not all(isinstance(value, str) for value in env.values()):
        fail("a value of the environment is not a text: %s" % env)
    return env


def pods(things, data, secret):
    """(name of the pod, command, environment) of every pod."""
    for (kind, name), job in things.items():
        if kind != "Job":
            continue
        spec, pod = job["spec"], job["spec"]["template"]["spec"]
        service = need(things, "Service", pod["subdomain"])
        if spec["completionMode"] != "Indexed" or spec["parallelism"] != spec["completions"]:
            fail(name + ": not all pods run at the same time")
        if service["spec"]["selector"] != spec["template"]["metadata"]["labels"]:
            fail(name + ": the service does not select its pods")
        container, = pod["containers"]
        mount, volume = container["volumeMounts"][0], pod["volumes"][0]
        need(things, "PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
        if mount["name"] != volume["name"]:
            fail(name + ": it mounts no volume")
        command = [re.sub("^%s/" % mount["mountPath"], data + "/", word) for word in container["command"]]
        for index in range(spec["completions"]):
            yield "%s-%d" % (name, index), command, environment(things, container, index, secret)


def main():
    manifest, data, secret_file = sys.argv[1:]
    secret = open(secret_file, encoding="utf-8").read()  # with the newline at its end, as kubectl takes it
    things = {(t["kind"], t["metadata"]["name"]): t for t in yaml.safe_load_all(open(manifest, encoding="utf-8"))}
    found = list(pods(things, data, secret))
    port = str(free_port())
    address = {name: "127.0.0.%d" % (2 + i) for i, (name, _, _) in enumerate(found)}
    service = next(name for kind, name in things if kind == "Service")
    running = []
    atexit.register(lambda: [process.kill() for _, process in running if process.poll() is None])
    signal.signal(signal.SIGTERM, lambda *_: fail("it takes too long"))
    for name, command, env in found:
        for key, value in env.items():
            for pod, host in address.items():
                value = value.replace("%s.%s:6170" % (pod, service), "%s:%s" % (host, port))
            env[key] = value.replace("*:6170", "%s:%s" % (address[name], port))
        log = open(name + ".log", "w")
        running.append((name, subprocess.Popen(command, env={**os.environ, **env}, stdout=log, stderr=subprocess.STDOUT)))
    status = 0
    for name, process in running:
        if process.wait():
            status = 1
            print("%s ended with %d:\n%s" % (name, process.returncode, open(name + ".log").read()))
    print("pods: " + " ".join(name for name, _ in running))
    sys.exit(status)


if __name__ == "__main__":
    main()
