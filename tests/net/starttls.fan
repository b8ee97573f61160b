# The part of SMTP (RFC 3207) in which a connection becomes an encrypted one.

<start>    ::= <Server:greeting> <hello> <Client:starttls> <Server:ready> <hello> <letter> <Client:quit> <Server:bye>
<hello>    ::= <Client:ehlo> <Server:features>
<letter>   ::= <Client:mail> <Server:ok>

<greeting> ::= "220 " <text> "\r\n"
<ehlo>     ::= "EHLO " <domain> "\r\n"
<features> ::= <more>* "250 " <text> "\r\n"
<more>     ::= "250-" <text> "\r\n"
<starttls> ::= "STARTTLS\r\n"
<ready>    ::= "220 " <text> "\r\n"
<mail>     ::= "MAIL FROM:<" r"[a-z]{1,8}" "@" <domain> ">\r\n"
<ok>       ::= "250 " <text> "\r\n"
<quit>     ::= "QUIT\r\n"
<bye>      ::= "221 " <text> "\r\n"
<text>     ::= r"[^\r\n]*"
<domain>   ::= r"[a-z]{1,8}" ".example"


class Client(NetworkParty):
    """Encrypts before the first word after STARTTLS: until then it listens in clear."""

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
        if message.symbol == "<ready>":
            self.start_tls()
