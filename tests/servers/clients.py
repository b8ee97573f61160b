"""Real clients that keep to what the specs of SMTP and FTP know: commands to start them, with {port} for the port."""

from __future__ import annotations

import shlex
import sys

# Without a letter, curl says one command and leaves.
_CURL = "curl -sS -k -m 20 --url smtp://127.0.0.1:{port}/client.example -X NOOP"
_ACCOUNT = "-u the_user:the_password --login-options AUTH=LOGIN"

# A list over a data connection each time; with TLS, first one that is encrypted and then one that is not.
_FTPLIB = """
import ftplib, ssl, sys
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
port, levels = sys.argv[1:]
with ftplib.FTP(timeout=20) if levels == "-" else ftplib.FTP_TLS(context=context, timeout=20) as ftp:
    ftp.connect("127.0.0.1", int(port))
    ftp.login("the_user", "the_password")
    for level in levels:
        if level == "P":
            ftp.prot_p()
        if level == "C":
            ftp.sendcmd("PBSZ 0")
            ftp.prot_c()
        ftp.sendcmd("SYST")
        connection, _ = ftp.ntransfercmd("LIST")
        while connection.recv(1024):
            pass
        connection.close()
        ftp.voidresp()
"""


def _ftplib(levels: str) -> str:
    return shlex.join([sys.executable, "-c", _FTPLIB, "{port}", levels])


# By spec: the name of the client, and its command.
CLIENTS = {
    "smtp": ("curl", f"{_CURL} {_ACCOUNT}"),
    "smtp_relay": ("curl", _CURL),
    "smtp_starttls": ("curl", f"{_CURL} {_ACCOUNT} --ssl-reqd"),
    "ftp": ("ftplib", _ftplib("-")),
    "ftp_tls": ("ftplib", _ftplib("PC")),
}
