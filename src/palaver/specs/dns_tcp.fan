# DNS over TCP: the same as over UDP, with the size of each message before it (RFC 7766)

include('dns.fan')

<framing> ::= rb"[\x00-\xff]{2}"
<truncated> ::= 0

where forall <m> in <query>: bytes(<m>.<framing>) == bytes_of(len(bytes(<m>)) - 2)
where forall <m> in <response>: bytes(<m>.<framing>) == bytes_of(len(bytes(<m>)) - 2)
where forall <m> in <extended_query>: bytes(<m>.<framing>) == bytes_of(len(bytes(<m>)) - 2)
where forall <m> in <extended_response>: bytes(<m>.<framing>) == bytes_of(len(bytes(<m>)) - 2)

ADDRESS = "tcp://127.0.0.1:53"

class StreamSpeaker(NetworkParty):
    """Hears a message when all of it has come. Names written out make it longer, so its size is told anew."""

    def __init__(self, mode):
        super().__init__(ADDRESS, connection_mode=mode)
        self.begun = b""

    def send(self, message, recipient):
        super().send(with_size(shortened(bytes(message)[2:])), recipient)

    def receive(self, message, sender):
        if message is None:
            if self.begun:
                super().receive(self.begun, sender)
            super().receive(None, sender)
            return
        self.begun += message
        while len(self.begun) >= 2 and len(self.begun) >= 2 + int.from_bytes(self.begun[:2], "big"):
            end = 2 + int.from_bytes(self.begun[:2], "big")
            whole, self.begun = self.begun[2:end], self.begun[end:]
            super().receive(with_size(in_full(whole)), sender)

class Client(StreamSpeaker):
    def __init__(self):
        super().__init__(ConnectionMode.CONNECT)
        self.start()

class Server(StreamSpeaker):
    def __init__(self):
        super().__init__(ConnectionMode.EXTERNAL)
