"""A real SMTP client: python smtp_client.py PORT COUNT; sends so many mails, each in a session of its own."""

import smtplib
import sys
import time

# Long enough never to be reached unless something is wrong.
LIMIT_S = 20.0


def connected(port: int) -> smtplib.SMTP:
    """As soon as somebody listens."""
    give_up_at = time.monotonic() + LIMIT_S
    while True:
        try:
            return smtplib.SMTP("127.0.0.1", port, local_hostname="here.example", timeout=LIMIT_S)
        except ConnectionRefusedError:
            assert time.monotonic() < give_up_at
            time.sleep(0.01)


for number in range(int(sys.argv[2])):
    with connected(int(sys.argv[1])) as client:
        client.ehlo()
        client.noop()
        to = ["you@there.example", "them@there.example"][: 1 + number % 2]
        client.sendmail("me@here.example", to, "Subject: Greetings\r\n\r\nHello there\r\nGood bye\r\n")
        client.rset()
