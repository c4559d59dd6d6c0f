#!/usr/bin/env python3
"""Follows the recipe for oauth2-proxy in docs/how-to/authorize.md: people sign in with a provider of OpenID Connect, a real API
server checks their ID tokens, and each sees its catalogs.

usage: oauth2_proxy.py CATALOGQL CLUSTER

CATALOGQL is the program, CLUSTER the example `cluster` of the crate `testing`. oauth2-proxy and the provider are built once from
Go modules. Of the recipe, only addresses and files are replaced.
"""

import base64
import contextlib
import http.cookiejar
import json
import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
RECIPE = REPOSITORY / "docs/how-to/authorize.md"

# Seconds that anything may take. The API server looks at its file once a minute at the latest.
DEADLINE = 180

# The host of the recipe, which is this machine.
HOST = "catalogs.example.com"

QUERY = "{ catalogs { name } }"
GRAPHQL = "/graphql?" + urllib.parse.urlencode({"query": QUERY})


def eventually(what, condition):
    ends = time.monotonic() + DEADLINE
    while not (found := condition()):
        if time.monotonic() > ends:
            sys.exit(f"error: {what} after {DEADLINE} seconds")
        time.sleep(0.1)
    return found


def check(what, found, expected):
    if found != expected:
        sys.exit(f"error: {what}: {found!r} is not {expected!r}")


def free_port():
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return own.getsockname()[1]


def listens(port):
    with socket.socket() as own:
        return own.connect_ex(("127.0.0.1", port)) == 0


def recipe():
    """The parts of the recipe in YAML: what the API server is told, and the containers."""
    section = RECIPE.read_text(encoding="utf-8").split("## Let people sign in with a browser")[1].split("\n## ")[0]
    blocks = re.findall(r"^ *```yaml\n(.*?)^ *```", section, re.DOTALL | re.MULTILINE)
    configuration, pod = [yaml.safe_load(block) for block in blocks]
    return configuration, {container["name"]: container["args"] for container in pod["containers"]}


class Stage:
    """What runs, and where."""

    def __init__(self, stack, program, cluster):
        self.stack, self.program = stack, program
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.tools = Path(subprocess.run([HERE / "build.sh"], check=True, capture_output=True, text=True).stdout.strip())
        self.upstream, self.proxy, self.provider = free_port(), free_port(), free_port()
        self.issuer = f"https://localhost:{self.provider}"
        self.certificate, self.key = self.folder / "tls.crt", self.folder / "tls.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext",
             f"subjectAltName=DNS:localhost,DNS:{HOST}", "-out", self.certificate, "-keyout", self.key],
            check=True, capture_output=True)
        for name in ["one", "two"]:
            (self.folder / name).mkdir()
            (self.folder / name / "catalog.json").write_text(json.dumps({"schema": "x", "name": name}))
        running = self.start("cluster", [cluster, self.folder / "one"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.facts = json.loads(running.stdout.readline())

    def start(self, name, command, **options):
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen([str(part) for part in command],
                                       **({"stdout": log, "stderr": log} | options))
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)
        return process

    def kubectl(self, *arguments, text=None):
        command = [self.facts["kubectl"], "--kubeconfig", self.facts["adminKubeconfig"], *arguments]
        subprocess.run(command, check=True, capture_output=True, input=text, text=True)

    def grant(self):
        """Ann may see the catalog `one`."""
        rule = {"apiGroups": ["olm.operatorframework.io"], "resources": ["clustercatalogs/content"],
                "resourceNames": ["one"], "verbs": ["get"]}
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": "public-catalogs"}, "rules": [rule]}
        self.kubectl("apply", "-f", "-", text=json.dumps(role))
        self.kubectl("create", "clusterrolebinding", "ann", "--clusterrole=public-catalogs", "--user=oidc:ann@example.com")

    def run(self):
        configuration, containers = recipe()
        redirect = next(flag.partition("=")[2] for flag in containers["oauth2-proxy"] if flag.startswith("--redirect-url"))
        self.start("provider", [self.tools / "provider", self.provider, self.certificate, self.key, redirect])
        eventually("the provider listens", lambda: listens(self.provider))
        issuer = configuration["jwt"][0]["issuer"]
        issuer |= {"url": self.issuer, "certificateAuthority": self.certificate.read_text()}
        Path(self.facts["authenticationConfiguration"]).write_text(json.dumps(configuration))
        self.grant()
        self.serve(containers["catalogql"])
        self.start_proxy(containers["oauth2-proxy"])

    def serve(self, arguments):
        """The recipe runs a controller; here the catalogs are directories."""
        flags = [flag for flag in arguments if flag != "controller" and "probe" not in flag]
        flags = [f"--listen=127.0.0.1:{self.upstream}" if flag.startswith("--listen=") else flag for flag in flags]
        catalogs = [self.folder / name for name in ["one", "two"]]
        command = [self.program, "serve", *catalogs, *flags, "--store", self.folder / "store"]
        self.start("catalogql", command, env=os.environ | {"KUBECONFIG": self.facts["kubeconfig"]})
        eventually("catalogql listens", lambda: listens(self.upstream))

    def start_proxy(self, arguments):
        own = {
            "--oidc-issuer-url": self.issuer, "--upstream": f"http://127.0.0.1:{self.upstream}", "--cookie-refresh": "2s",
            "--https-address": f"127.0.0.1:{self.proxy}", "--tls-cert-file": self.certificate, "--tls-key-file": self.key,
        }
        names = [flag.partition("=")[0] for flag in arguments]
        assert own.keys() <= set(names), names
        flags = [f"{name}={own[name]}" if name in own else flag for name, flag in zip(names, arguments)]
        more = ["--provider-ca-file", self.certificate, "--http-address", "-"]
        secrets = {"OAUTH2_PROXY_CLIENT_SECRET": "secret",
                   "OAUTH2_PROXY_COOKIE_SECRET": base64.urlsafe_b64encode(os.urandom(32)).decode()}
        self.start("oauth2-proxy", [self.tools / "oauth2-proxy", *flags, *more], env=os.environ | secrets)
        eventually("oauth2-proxy listens", lambda: listens(self.proxy))


class Browser:
    """Somebody's browser, with its cookies."""

    def __init__(self, stage):
        self.cookies = http.cookiejar.CookieJar()
        self.tls = ssl.create_default_context(cafile=stage.certificate)
        handlers = urllib.request.HTTPSHandler(context=self.tls), urllib.request.HTTPCookieProcessor(self.cookies)
        self.opener = urllib.request.build_opener(*handlers)

    def open(self, url, form=None, headers=None):
        """The status, the URL after redirects, and the body."""
        data = urllib.parse.urlencode(form).encode() if form else None
        try:
            with self.opener.open(urllib.request.Request(url, data, headers or {})) as response:
                return response.status, response.url, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.url, error.read().decode()

    def get(self, path, **headers):
        return self.open(f"https://{HOST}{path}", headers=headers)

    def sign_in(self, name):
        status, url, page = self.get("/")
        check(f"{name} is sent to the provider", (status, "/login/username" in url), (200, True))
        request = re.search(r'name="id" value="([^"]*)"', page)[1]
        form = {"id": request, "username": name, "password": name}
        status, url, _ = self.open(urllib.parse.urljoin(url, "/login/username"), form)
        check(f"{name} is sent back to the page", (status, url), (200, f"https://{HOST}/"))

    def catalogs(self, **headers):
        status, _, body = self.get(GRAPHQL, **headers)
        return [one["name"] for one in json.loads(body)["data"]["catalogs"]] if status == 200 else status

    def socket(self):
        """The response to the query over a WebSocket."""
        with self.tls.wrap_socket(socket.create_connection((HOST, 443)), server_hostname=HOST) as stream:
            cookie = "; ".join(f"{one.name}={one.value}" for one in self.cookies if one.domain.startswith(HOST))
            key = base64.b64encode(os.urandom(16)).decode()
            stream.sendall((f"GET /graphql HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nOrigin: https://{HOST}\r\n"
                            f"Sec-WebSocket-Protocol: graphql-transport-ws\r\nCookie: {cookie}\r\n\r\n").encode())
            reader = stream.makefile("rb")
            check("the WebSocket opens", reader.readline().split()[1:2], [b"101"])
            while reader.readline().strip():
                pass
            for message in [{"type": "connection_init"},
                            {"type": "subscribe", "id": "1", "payload": {"query": QUERY}}]:
                text = json.dumps(message).encode()
                assert len(text) < 126
                stream.sendall(struct.pack("!BB4x", 0x81, 0x80 | len(text)) + text)
                length = reader.read(2)[1]
                answer = json.loads(reader.read(length))
            return [one["name"] for one in answer["payload"]["data"]["catalogs"]]


def reach(stage):
    """Makes this process find the host of the recipe at oauth2-proxy."""
    connect = socket.create_connection
    socket.create_connection = lambda address, *rest, **more: connect(
        ("127.0.0.1", stage.proxy) if address[0] == HOST else address, *rest, **more)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with contextlib.ExitStack() as stack:
        stage = Stage(stack, *(Path(argument).resolve() for argument in sys.argv[1:]))
        stage.run()
        reach(stage)
        stranger, ann, bob = (Browser(stage) for _ in range(3))
        check("without a cookie", stranger.catalogs(), 401)
        check("with an invented token", stranger.catalogs(Authorization="Bearer x"), 401)
        ann.sign_in("ann")
        bob.sign_in("bob")
        eventually("the API server knows the provider", lambda: ann.catalogs() == ["one"])
        check("bob", bob.catalogs(), [])
        check("ann's WebSocket", ann.socket(), ["one"])
        check("what ann claims", ann.catalogs(Authorization="Bearer x", **{"X-Forwarded-User": "admin"}), ["one"])
        paths = [f"/catalogs/{name}/api/v1/all" for name in ["one", "two"]]
        check("ann's paths", [ann.get(path)[0] for path in paths], [200, 403])
        check("bob's paths", [bob.get(path)[0] for path in paths], [403, 403])
        before = {one.value for one in ann.cookies}
        eventually("ann's token is refreshed",
                   lambda: ann.catalogs() == ["one"] and {one.value for one in ann.cookies} != before)
        ann.get("/oauth2/sign_out")
        check("signed out", ann.catalogs(), 401)
        check("past oauth2-proxy", stranger.open(f"http://127.0.0.1:{stage.upstream}{GRAPHQL}")[0], 401)
    print("people sign in by oauth2-proxy and see what the API server lets them")


if __name__ == "__main__":
    main()
