#!/usr/bin/env python3
"""job_api.py FOLDER: as much of Kubernetes' API as `kubectl get job NAME` asks for, on a free port that is written to FOLDER/port.
The conditions of a Job are the JSON of FOLDER/NAME.json, read for each request; a Job without that file is not there. Each answer
about a Job is a line of FOLDER/asked."""
import http.server
import json
import os
import sys

RESOURCE = {"name": "jobs", "singularName": "job", "namespaced": True, "kind": "Job", "verbs": ["get", "list", "watch"]}
ANSWERS = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
        {"name": "batch", "versions": [{"groupVersion": "batch/v1", "version": "v1"}],
         "preferredVersion": {"groupVersion": "batch/v1", "version": "v1"}}]},
    "/apis/batch/v1": {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "batch/v1", "resources": [RESOURCE]},
}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.split("?")[0]
        answer = ANSWERS.get(path)
        name = os.path.basename(path)
        file = os.path.join(sys.argv[1], name + ".json")
        if path == "/apis/batch/v1/namespaces/default/jobs/" + name and os.path.exists(file):
            with open(file) as f:
                answer = {"kind": "Job", "apiVersion": "batch/v1", "metadata": {"name": name, "namespace": "default"},
                          "status": {"conditions": json.load(f)}}
        self.send_response(200 if answer else 404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        missing = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"}
        self.wfile.write(json.dumps(answer or missing).encode())
        if name + ".json" in os.listdir(sys.argv[1]):
            with open(os.path.join(sys.argv[1], "asked"), "a") as f:
                f.write(name + "\n")

    def log_message(self, *ignored):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(os.path.join(sys.argv[1], "port.new"), "w") as out:
    out.write(str(server.server_port))
os.rename(out.name, os.path.join(sys.argv[1], "port"))
server.serve_forever()
