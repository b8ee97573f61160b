"""Every spec of SMTP and FTP is the server of a real client, in clear and with TLS, if that keeps to what it knows.

How clients that say whatever they like are tested is in test_smtp_clients.py and test_ftp_clients.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from servers.clients import CLIENTS


@pytest.mark.servers("curl", "openssl")
@pytest.mark.parametrize("spec", CLIENTS)
def test_a_real_client_talks_to_a_server_of_the_spec(palaver: Any, spec: str) -> None:
    _, command = CLIENTS[spec]
    talked = palaver("talk", spec, "--server", "{port}", "--target", command, "-n", "10", "--seed", "1")
    assert talked.code == 0, talked.said
    assert talked.summary.startswith("10 sessions, ")
    assert talked.summary.endswith(" received, no findings")
