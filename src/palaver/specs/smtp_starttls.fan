# SMTP with STARTTLS (RFC 3207): the connection is encrypted before anybody logs in.
#
#     palaver talk -f smtp_starttls.fan --client 8025
#
# All of smtp.fan, with these rules in place of its own. In clear the server offers no login, and accepts none.

include('smtp.fan')

<hello>           ::= <Client:ehlo> <Server:tls_features> <in_clear> | <old_hello> <no_login>? <farewell>
<old_hello>       ::= <Client:helo> <Server:welcome>
<in_clear>        ::= (<no_login> | <not_allowed>) <in_clear> | <encryption> <in_secret> | <farewell>
<encryption>      ::= <Client:starttls> <Server:tls_ready>

# What was said in clear may have been said by anybody, so it is forgotten, and they say hello again.
<in_secret>       ::= <new_hello>

<starttls>        ::= "STARTTLS\r\n"
<tls_ready>       ::= r"(220-[\t -~]*\r\n)*220( [\t -~]*)?" "\r\n"
<tls_features>    ::= "250-" <host> r"( [\t -~]*)?" "\r\n" <extension>* <tls_offer>
<tls_offer>       ::= (
    r"250-STARTTLS\r\n(250-[A-Za-z0-9][A-Za-z0-9-]*([ =][!-~]+)*\r\n)*250 [A-Za-z0-9][A-Za-z0-9-]*([ =][!-~]+)*|250 STARTTLS"
    "\r\n"
)

where <greeting>..<host> == <tls_features>.<host>


class Client(NetworkParty):
    """Encrypts before its first words after STARTTLS; until then it listens in clear."""

    def __init__(self):
        super().__init__("tcp://127.0.0.1:25", connection_mode=ConnectionMode.CONNECT)
        self.has_asked = False
        self.start()

    def send(self, message, recipient):
        if self.has_asked:
            self.start_tls()
        self.has_asked = message.symbol == "<starttls>"
        super().send(message, recipient)


class Server(NetworkParty):
    """Encrypts as soon as it has said that it is ready."""

    def __init__(self):
        super().__init__("tcp://127.0.0.1:25", connection_mode=ConnectionMode.EXTERNAL)

    def send(self, message, recipient):
        super().send(message, recipient)
        if message.symbol == "<tls_ready>":
            self.start_tls()
