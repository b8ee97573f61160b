"""Servers as Debian ships them, each in a throw-away root of its own.

The root is an overlay: the machine's own files below, and above them, in memory, a copy of what `tools/servers.sh` has
installed for this server alone.
Nothing is changed in the configuration but what isolation needs: the port, the loopback interface, an account, and that
no mail leaves. The steps are in the setup of each server. All needs root.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from servers.common import PLACES, free_port, greets, started
from servers.ftp import furnished

INSTALLED = Path(os.environ.get("PALAVER_SERVERS", Path(__file__).parent.parent.parent / ".servers"))

# Everything in here ends with the first process: servers that start others put them into groups of their own.
NAMESPACE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-ec"]
ROOT = """
folder=$1 installed=$2 setup=$3
mkdir "$folder/overlay" && mount -t tmpfs -o mode=755 tmpfs "$folder/overlay" && cd "$folder/overlay"
mkdir upper work root
[ -z "$installed" ] || cp --archive "$installed/." upper
mount -t overlay overlay -o "lowerdir=/,upperdir=upper,workdir=work" root
mount -t proc proc root/proc
mount --rbind /dev root/dev
mount --bind "$folder" root/mnt
exec chroot root sh -ec "$setup"
"""


@dataclass(frozen=True)
class StockServer:
    """A server that has greeted once already, and the folder that it sees as /mnt."""

    port: int
    folder: Path


# The programs of those that tools/servers.sh has put into folders of their own.
PROGRAMS = {
    "postfix": str(INSTALLED / "postfix/upper/usr/lib/postfix/sbin/master"),
    "exim4": str(INSTALLED / "exim4/upper/usr/sbin/exim4"),
    "proftpd": str(INSTALLED / "proftpd/upper/usr/sbin/proftpd"),
    "pure-ftpd": str(INSTALLED / "pure-ftpd/upper/usr/sbin/pure-ftpd"),
}


def needs(name: str) -> pytest.MarkDecorator:
    """The mark of tests that need a server of this name."""
    return pytest.mark.servers("unshare", PROGRAMS.get(name, name), root=True)


@contextmanager
def running(
    setup: str, name: str = "", *, is_ready: Callable[[int], bool], furnish: Callable[[Path], object] | None = None
) -> Iterator[StockServer]:
    """The server that the shell commands of `setup` end with, in the root of what was installed as `name`."""
    with tempfile.TemporaryDirectory(prefix="palaver-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        folder.chmod(0o755)
        port = free_port()
        if furnish is not None:
            furnish(folder)
        installed = str(INSTALLED.resolve() / name / "upper") if name else ""
        command = [*NAMESPACE, ROOT, "sh", place, installed, setup.replace("@PORT@", str(port))]
        environment = {**os.environ, "PATH": PLACES}
        with started(command, is_ready=partial(is_ready, port), log=folder / "log", env=environment):
            yield StockServer(port, folder)


def says_220(port: int) -> bool:
    return greets(port, b"220")


# --- mail -------------------------------------------------------------------------------------------------------------

_POSTFIX = """
sed -i 's/^smtp      inet/127.0.0.1:@PORT@ inet/' /etc/postfix/master.cf
postconf -e inet_interfaces=loopback-only defer_transports=smtp
@MORE@
exec /usr/lib/postfix/sbin/master -c /etc/postfix -d
"""
# A SASL database is where the smtpd of Debian, which runs in a root of its own, can see it. That the machine itself is
# no longer trusted makes the client one from elsewhere.
_POSTFIX_ACCOUNT = """
postconf -e smtpd_sasl_auth_enable=yes mynetworks=
printf 'pwcheck_method: auxprop\nauxprop_plugin: sasldb\nmech_list: PLAIN LOGIN\n' >/etc/postfix/sasl/smtpd.conf
mkdir -p /var/spool/postfix/etc
echo the_password | saslpasswd2 -p -c -f /var/spool/postfix/etc/sasldb2 -u "$(postconf -h myhostname)" the_user
chown postfix /var/spool/postfix/etc/sasldb2
"""

_EXIM = """
@MORE@
echo "disable_ipv6 = true" >>/etc/exim4/exim4.conf.localmacros
update-exim4.conf
exec /usr/sbin/exim4 -bdf -oX 127.0.0.1.@PORT@
"""
# The example of a login in Debian's configuration is used, with its file of passwords.
_EXIM_ACCOUNT = """
printf 'AUTH_SERVER_ALLOW_NOTLS_PASSWORDS = yes\nMAIN_RELAY_NETS = 192.0.2.1\n' >/etc/exim4/exim4.conf.localmacros
sed -i '/^# login_server:/,/^# *\\.endif/ s/^# \\?//' /etc/exim4/exim4.conf.template
echo "the_user:$(openssl passwd -6 the_password):" >/etc/exim4/passwd
chown root:Debian-exim /etc/exim4/passwd
chmod 640 /etc/exim4/passwd
"""

_OPENSMTPD = """
sed -i 's/^listen on .*/listen on 127.0.0.1 port @PORT@/' /etc/smtpd.conf
mkdir -p /run/smtpd && exec smtpd -d
"""


def postfix(*, has_account: bool) -> AbstractContextManager[StockServer]:
    """Postfix, which takes mail from this machine; with an account, only from those who have logged in."""
    setup = _POSTFIX.replace("@MORE@", _POSTFIX_ACCOUNT if has_account else "")
    return running(setup, "postfix", is_ready=says_220)


def exim(*, has_account: bool) -> AbstractContextManager[StockServer]:
    """Exim with Debian's own configuration, likewise."""
    return running(_EXIM.replace("@MORE@", _EXIM_ACCOUNT if has_account else ""), "exim4", is_ready=says_220)


def opensmtpd() -> AbstractContextManager[StockServer]:
    """OpenSMTPD, which takes mail from this machine."""
    return running(_OPENSMTPD, is_ready=says_220)


# --- web --------------------------------------------------------------------------------------------------------------

_NGINX = """
sed -i 's/listen 80 /listen 127.0.0.1:@PORT@ /; /listen \\[::\\]/d' /etc/nginx/sites-available/default
exec nginx -g 'daemon off;'
"""
_LIGHTTPD = """
sed -i 's/^server.port .*/server.port = @PORT@\\nserver.bind = "127.0.0.1"/; /use-ipv6/d' /etc/lighttpd/lighttpd.conf
exec lighttpd -D -f /etc/lighttpd/lighttpd.conf
"""
_APACHE = """
printf 'Listen 127.0.0.1:@PORT@\\nServerName localhost\\n' >/etc/apache2/ports.conf
sed -i 's/<VirtualHost .*>/<VirtualHost 127.0.0.1:@PORT@>/' /etc/apache2/sites-available/000-default.conf
mkdir -p /var/run/apache2 /var/lock/apache2
exec apachectl -D FOREGROUND
"""


def nginx() -> AbstractContextManager[StockServer]:
    """nginx with its page of welcome."""
    return running(_NGINX, is_ready=greets)


def lighttpd() -> AbstractContextManager[StockServer]:
    """lighttpd, likewise."""
    return running(_LIGHTTPD, is_ready=greets)


def apache() -> AbstractContextManager[StockServer]:
    """Apache, likewise."""
    return running(_APACHE, is_ready=greets)


# --- files ------------------------------------------------------------------------------------------------------------

# An account of the system, whose home is the root that it sees. It may write to one folder of it.
_ACCOUNT = """
useradd --no-create-home --home-dir /mnt/home --shell /bin/sh the_user
echo the_user:the_password | chpasswd
chown the_user /mnt/home/upload
"""
_VSFTPD = """
printf 'listen=YES\nlisten_ipv6=NO\nlisten_address=127.0.0.1\nlisten_port=@PORT@\n' >>/etc/vsftpd.conf
printf 'write_enable=YES\nchroot_local_user=YES\nbackground=NO\n' >>/etc/vsftpd.conf
mkdir -p /var/run/vsftpd/empty
vsftpd /etc/vsftpd.conf  # without exec: as the first process of a namespace it ends with one of its children
"""
_PROFTPD = """
sed -i 's/^Port.*/Port @PORT@/' /etc/proftpd/proftpd.conf
printf 'DefaultAddress 127.0.0.1\nUseReverseDNS off\nDefaultRoot ~\n' >/etc/proftpd/conf.d/here.conf
mkdir -p /run/proftpd
exec proftpd --nodaemon
"""
_PURE_FTPD = """
echo 127.0.0.1,@PORT@ >/etc/pure-ftpd/conf/Bind
echo yes >/etc/pure-ftpd/conf/ChrootEveryone
echo yes >/etc/pure-ftpd/conf/DontResolve
mkdir -p /var/log/pure-ftpd /run/pure-ftpd
exec pure-ftpd-wrapper
"""


def _ftp(setup: str, name: str = "") -> AbstractContextManager[StockServer]:
    return running(_ACCOUNT + setup, name, is_ready=says_220, furnish=furnished)


def vsftpd() -> AbstractContextManager[StockServer]:
    """vsftpd, whose users may write, and see their home as the root."""
    return _ftp(_VSFTPD)


def proftpd() -> AbstractContextManager[StockServer]:
    """ProFTPD, likewise."""
    return _ftp(_PROFTPD, "proftpd")


def pure_ftpd() -> AbstractContextManager[StockServer]:
    """Pure-FTPd, likewise."""
    return _ftp(_PURE_FTPD, "pure-ftpd")
