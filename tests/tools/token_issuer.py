"""An identity provider for tests: a key, its JWK set in a file, and an endpoint for tokens.

`with TokenIssuer(folder, life_s=3) as issuer: … issuer.token_url …`. Its only client has the id
`CLIENT` and the secret `SECRET`. A broker validates tokens by the file `jwks_url`. Loopback only.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

CLIENT, SECRET, AUDIENCE = "node", "issuer-secret", "kafka"
_KEY_ID = "one"


class TokenIssuer:
    """An identity provider, whose tokens are valid for `life_s` seconds."""

    def __init__(self, folder: Path, life_s: int) -> None:
        self.life_s = life_s
        self.issued = 0
        """The number of tokens that it has issued."""
        self._key = ec.generate_private_key(ec.SECP256R1())
        public = jwt.algorithms.ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        jwks = folder / "jwks.json"
        jwks.write_text(json.dumps({"keys": [{**public, "kid": _KEY_ID, "alg": "ES256"}]}))
        self.jwks_url = jwks.as_uri()
        self._server = _Server(self)
        self.token_url = f"http://127.0.0.1:{self._server.server_port}/token"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> TokenIssuer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def token(self) -> str:
        """Return a new token, signed."""
        self.issued += 1
        now_s = int(time.time())
        claims = {"sub": CLIENT, "iat": now_s, "exp": now_s + self.life_s, "aud": AUDIENCE}
        return jwt.encode(claims, self._key, "ES256", headers={"kid": _KEY_ID})


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, issuer: TokenIssuer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.issuer = issuer


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        wanted = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if self.headers.get("Authorization") != f"Basic {wanted}":
            self.send_error(401)
            return
        issuer = self.server.issuer
        answer = {
            "access_token": issuer.token(),
            "token_type": "Bearer",
            "expires_in": issuer.life_s,
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Write no log: tests read only the nodes' logs."""
