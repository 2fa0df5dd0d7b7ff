# SPDX-License-Identifier: BSD-3-Clause
"""A receiver of messages that keeps keys, and that fails in the ways that a test wants."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Listener:
    """What came: each request, and each message once by its key.

    :param faults: what becomes of the next requests: a status, ``hang``, ``cut``
        (before anything is taken) or ``lost`` (taken, and the answer is lost); after them all are taken.
    """

    def __init__(self):
        self.faults, self.requests, self.messages = [], [], {}
        self.released = threading.Event()

    def take(self, handler):
        fault = self.faults.pop(0) if self.faults else 200
        body = handler.rfile.read(int(handler.headers["Content-Length"])).decode()
        key = handler.headers["Idempotency-Key"]
        self.requests.append((fault, handler.path, key, handler.headers, body))
        if fault in (200, "lost"):
            self.messages.setdefault(key, json.loads(body))
        if fault == "hang":
            self.released.wait()
        if isinstance(fault, int):
            handler.send_response(fault)
            if fault == 302:
                handler.send_header("Location", "/elsewhere")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        else:
            handler.close_connection = True


@contextmanager
def listening(port=0, tls=None):
    """Yield a listener with its address as ``url``; :param tls: a context of ssl with its certificate."""
    listener = Listener()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            listener.take(self)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        listener.port = server.server_port
        listener.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}/hook"
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield listener
        finally:
            listener.released.set()
            server.shutdown()
