"""Where a scheduler is, and which addresses are refused.

Whoever reaches a scheduler can run any code as its user on every worker; no password stands before it. So an address
is either this machine's own (loopback) or one where both sides show certificates (TLS).
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from autoquant.errors import UserError

REASON = "whoever reaches a scheduler runs any code on its workers"


@dataclass(frozen=True)
class Certificates:
    """Files of the TLS options, as Dask's own commands name them. None leaves it to Dask's configuration."""

    ca_file: Path | None = None
    cert: Path | None = None
    key: Path | None = None


@dataclass(frozen=True)
class Scheduler:
    """An address that may be used.

    Parameters
    ----------
    address : `tcp://` on loopback, or `tls://`.
    certificates : with TLS.
    """

    address: str
    certificates: Certificates = Certificates()

    @property
    def is_tls(self) -> bool:
        """Whether both sides show certificates."""
        return self.address.startswith("tls://")

    @staticmethod
    def parse(text: str, certificates: Certificates = Certificates()) -> Scheduler:
        """Read an address as it was typed.

        Raises
        ------
        UserError : not an address with a port, plain TCP beyond this machine, or a certificate file that is not there.
        """
        example = "for example tcp://127.0.0.1:8786, or tls://HOST:8786 with --tls-ca-file, --tls-cert and --tls-key"
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if host is None or not port or parts.scheme not in ("tcp", "tls") or parts.path or parts.query:
            raise UserError(f"--scheduler {text}: not an address of a scheduler", example)
        if parts.scheme == "tcp":
            if not is_loopback(text):
                raise UserError(
                    f"--scheduler {text}: plain TCP beyond this machine is refused: {REASON}",
                    f"tls://{host}:{port} with --tls-ca-file, --tls-cert and --tls-key, or an SSH tunnel to 127.0.0.1",
                )
            if certificates != Certificates():
                raise UserError(f"--scheduler {text}: certificates go with tls://", example)
        for path in (certificates.ca_file, certificates.cert, certificates.key):
            if path is not None and not path.is_file():
                raise UserError(f"{path}: no such certificate file", example)
        return Scheduler(text, certificates)


def is_loopback(address: str) -> bool:
    """Whether an address is this machine's own; a name other than localhost is not, whatever it resolves to today.

    >>> is_loopback("tcp://127.0.0.1:8786"), is_loopback("tcp://[::1]:1"), is_loopback("tcp://localhost:1")
    (True, True, True)
    >>> is_loopback("tcp://10.0.0.7:8786"), is_loopback("tcp://0.0.0.0:8786"), is_loopback("tcp://head:8786")
    (False, False, False)
    """
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
