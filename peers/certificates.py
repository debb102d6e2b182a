"""Certificates for tests of TLS: an authority, and keys that it has signed, in PEM, by the program
`openssl`.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

DAYS = "2"
_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")


@dataclass(frozen=True, slots=True)
class Authority:
    """An authority of its own, whose files are in a directory."""

    directory: Path

    @property
    def certificate(self) -> Path:
        """What its clients trust."""
        return self.directory / "authority.pem"

    def signed(self, name: str, alternative_names: str = "DNS:localhost,IP:127.0.0.1") -> Path:
        """A file with a new key in PKCS 8 and its certificate, which is valid for these names."""
        key, request = self.directory / f"{name}.key", self.directory / f"{name}.csr"
        certificate, extensions = self.directory / f"{name}.crt", self.directory / f"{name}.ext"
        extensions.write_text(f"subjectAltName={alternative_names}\n")
        _openssl("req", *_CURVE, "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        authority = ("-CA", self.certificate, "-CAkey", self.directory / "authority.key", "-CAcreateserial")
        signing = ("-in", request, "-out", certificate, "-extfile", extensions, "-days", DAYS)
        _openssl("x509", "-req", *authority, *signing)
        both = self.directory / f"{name}.pem"
        both.write_text(key.read_text() + certificate.read_text())
        return both


def new_authority(directory: Path) -> Authority:
    """A new authority with its files in a new directory."""
    directory.mkdir()
    made = Authority(directory)
    key = directory / "authority.key"
    named = ("-days", DAYS, "-subj", f"/CN=authority of {directory.name}")
    constraints = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    _openssl(
        "req", "-x509", *_CURVE, "-nodes", "-keyout", key, "-out", made.certificate, *named, *constraints
    )
    return made


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
