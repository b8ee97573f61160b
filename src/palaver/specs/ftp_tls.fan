# FTP over TLS (RFC 4217): ftp, with an encrypted control connection and data that is encrypted or not, in turns.
#
#   palaver talk ftp_tls --client 2121
#   palaver talk ftp_tls --server 2121
#
# Everything that is not said here is as in ftp.fan.

include('ftp.fan')


# --- What is different ------------------------------------------------------------------------------------------------
#
# First of all the control connection is encrypted. Data connections are not, unless that was asked for. It can be asked
# for, and taken back, at any time but between the opening of a data connection and its use.

<start>        ::= <Server:Client:greeting> <encrypt> <logged_out>

<logged_in>    ::= (<question> | <protect> | <expose>)* (<set_binary> <binary> | <open_data> <passive> | <goodbye>)

<binary>       ::= (
    (<question> | <protect> | <expose>)* (<set_ascii> <logged_in> | <open_data> <binary_passive> | <goodbye>)
)

<encrypt>      ::= <Client:Server:auth_tls> <Server:Client:go_ahead>
<auth_tls>     ::= "AUTH TLS\r\n"
<go_ahead>     ::= "234 " <rest>

# The size of the buffer must be told before, although TLS has no use for it.
<protect>      ::= <Client:Server:pbsz> <Server:Client:done> <Client:Server:prot_private> <Server:Client:done>
<expose>       ::= <Client:Server:pbsz> <Server:Client:done> <Client:Server:prot_clear> <Server:Client:done>
<pbsz>         ::= "PBSZ 0\r\n"
<prot_private> ::= "PROT P\r\n"
<prot_clear>   ::= "PROT C\r\n"


# --- When to encrypt --------------------------------------------------------------------------------------------------
#
# On the control connection, right after "go ahead": the server as soon as it has said it, the client before it says
# anything else. On data connections, from their start, if the last PROT was private.

class Client(Client):
    has_asked = False

    def send(self, message, recipient):
        if self.has_asked:
            self.start_tls()
        self.has_asked = message.symbol == "<auth_tls>"
        ClientData.instance().heed(str(message))
        super().send(message, recipient)


class Server(Server):
    line = ""

    def send(self, message, recipient):
        super().send(message, recipient)
        if message.symbol == "<go_ahead>":
            self.start_tls()

    def receive(self, message, sender):
        if message is not None:  # a piece of a command, or the whole of it
            self.line += message.decode("latin-1")
            ServerData.instance().heed(self.line)
            self.line = self.line.rpartition("\n")[2]
        super().receive(message, sender)


class PrivateEnd:
    def heed(self, command):
        if command.startswith("PROT "):
            self.tls = {} if command == "PROT P\r\n" else None

    def receive(self, message, sender):
        super().receive(message, sender)
        if message is None:  # whoever ends an encrypted connection waits until the other side does, too
            self.stop()


class ClientData(PrivateEnd, ClientData):
    pass


class ServerData(PrivateEnd, ServerData):
    pass
