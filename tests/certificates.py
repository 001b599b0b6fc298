"""A certificate for tests, and a server's side of TLS with it."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest


def make_certificate(folder: Path, names: str = "DNS:league.test") -> tuple[Path, Path]:
    """A key and a certificate for these names that nobody else trusts."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=league.test"
    extra = ["-addext", f"subjectAltName={names}", "-keyout", str(key), "-out", str(cert)]
    try:
        subprocess.run([*command.split(), *extra], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs openssl to make a certificate")
    return key, cert


def server_side(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[1], certificate[0])
    return context
