# FTP in active mode, with encrypted data connections, transfers that are aborted, and a race at the end.
#
# The client listens, and tells the server where; so the server connects, and is still the server of the handshake.
# A transfer that is aborted may end in any way: with all of the data, with some, or with a connection that is reset;
# and it may be complete before the server has heard of it. There are two replies all the same: one to RETR, one to ABOR.

include('ftp_tls.fan')

<start>     ::= <Server:Client:greeting> <encrypt> <login> <protect> (<aborted> | <fetched>){3} <leave>

<aborted>   ::= <announce> <Client:Server:retr_big> (
    <Server:Client:opening> (<Client:Server:abor> <Server:Client:abort_reply>{2} | <Server:Client:complete>)
)
<fetched>   ::= <announce> <download>
<announce>  ::= <Client:Server:eprt> <Server:Client:done>
<eprt>      ::= "EPRT |1|127.0.0.1|" <own_port> "|\r\n"
<own_port>  ::= <number> := waited_at()
<retr_big>  ::= "RETR /big\r\n"
<abor>      ::= "ABOR\r\n"
<abort_reply> ::= r"(226|225|426|425) " <rest>

# Some servers say good-bye, and others are gone before.
<leave>     ::= <Client:Server:quit> <Server:Client:bye>? <Server:Client:connection_ended>
<connection_ended> ::= ""


def waited_at():
    data = ClientData.instance()
    data.port = free_port(data.port)
    data.stop()
    data.start()
    return data.port


class ClientData(ClientData):
    is_aborted = False

    def __init__(self):
        super().__init__()
        self.connection_mode = ConnectionMode.OPEN

    def heed(self, command):
        if command == "PROT P\r\n":
            self.tls = {"role": "client"}
        if command.startswith("RETR"):
            self.is_aborted = command == "RETR /big\r\n"

    def receive(self, message, sender):
        if not self.is_aborted:
            super().receive(message, sender)
        elif message is None:  # it does not matter what came, and how it ended
            self.stop()
